// The policy in force: what the minter asks, what readyz and the metrics say of it. A policy changes as a whole and at
// once. Must not know where it comes from, nor Envoy.
import type { MinterParts } from '../mint/create-minter.ts';
import { createPolicyJudge, type PolicyJudge } from '../policy/policy-judge.ts';
import { noSniHost, selfCheckHost } from '../settings/gateway-spec.ts';
import type { PolicyFile } from '../settings/policy-file.ts';
import { policyInForce, type PolicyInForce } from './policy-in-force.ts';
import type { Surroundings } from './surroundings.ts';

/** `file`: what is written there cannot be used; `envoy`: it is not what Envoy enforces */
type TroubleKind = 'file' | 'envoy';

export interface LivePolicy {
  /** the rules in force */
  current(): PolicyFile;
  /** the same, as status tells it */
  readonly inForce: () => PolicyInForce;
  /** for the minter: refuses a name only when no port and no actor could have it intercepted */
  readonly mayMint: MinterParts['mayMint'];
  /** for readyz: what keeps the policy in force from being the one that was written; empty when nothing does */
  reasons(): readonly string[];
  /** these rules are about to be in force: what they let be intercepted may be minted already, since Envoy asks at once */
  prepare(file: PolicyFile): void;
  /** these rules are in force from now on */
  take(file: PolicyFile): void;
  /** what was prepared does not come into force */
  withdraw(): void;
  trouble(kind: TroubleKind, reason: string | undefined): void;
}

/** the names that no policy may keep from being minted: what a client without SNI gets, and the self-check's own */
const alwaysMinted: ReadonlySet<string> = new Set([noSniHost, selfCheckHost]);

export function createLivePolicy(
  { file: first, source }: { readonly file: PolicyFile; readonly source: string },
  { metrics, clock }: Pick<Surroundings, 'metrics' | 'clock'>,
): LivePolicy {
  let file = first;
  let judge = createPolicyJudge(first.policy);
  let prepared: PolicyJudge | undefined;
  let since = clock.now();
  const troubles = new Map<TroubleKind, string>();
  const report = (): void => {
    metrics.set('leafgate_policy_rules', policyInForce(file.policy, source, since).rules);
    metrics.set('leafgate_policy_is_current', troubles.size === 0 ? 1 : 0);
  };
  report();
  return {
    current: () => file,
    inForce: () => policyInForce(file.policy, source, since),
    mayMint: (name) => {
      if (name.kind === 'dns' && alwaysMinted.has(name.host)) return { allowed: true, rule: 'always' };
      const next = prepared?.mayIntercept(name);
      return next?.allowed === true ? next : judge.mayIntercept(name);
    },
    reasons: () => [...troubles.values()],
    prepare: (coming) => {
      prepared = createPolicyJudge(coming.policy);
    },
    withdraw: () => {
      prepared = undefined;
    },
    take: (taken) => {
      file = taken;
      judge = createPolicyJudge(taken.policy);
      prepared = undefined;
      since = clock.now();
      report();
    },
    trouble: (kind, reason) => {
      if (reason === undefined) troubles.delete(kind);
      else troubles.set(kind, reason);
      report();
    },
  };
}
