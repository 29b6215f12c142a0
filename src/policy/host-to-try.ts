// A host with which somebody can see interception at work: one that the policy intercepts on port 443 for everybody. Pure.
import { parseHostName } from '../names/parse-host-name.ts';
import { createPolicyJudge } from './policy-judge.ts';
import type { Policy } from './policy-types.ts';

/** exists, answers with HTTPS, and is nobody's in particular (RFC 2606, 3) */
const usual = parseHostName('example.com');

/** The first of `example.com` and the hosts that rules name in full; undefined where none is intercepted. */
export function hostToTry(policy: Policy): string | undefined {
  const judge = createPolicyJudge(policy);
  const named = policy.rules.flatMap(({ target, verdict }) => {
    const isHost = verdict === 'intercept' && target.kind === 'host' && target.pattern.kind === 'exact';
    return isHost ? [target.pattern.host] : [];
  });
  return [...(usual === undefined ? [] : [usual]), ...named].find((host) => {
    return judge.decide({ host: { kind: 'dns', host }, port: 443 }).verdict === 'intercept';
  });
}
