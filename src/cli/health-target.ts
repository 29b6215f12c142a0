// Where health and metrics are served: a unix socket or a port of this machine alone, since anybody who reaches it can read
// what the gateway counts. A pod is another matter: the kubelet comes from outside, and who else may is its network policy's.
import type { HealthListen } from '../observe/health-server.ts';
import { isLoopback, parseListenTarget } from '../settings/parse-listen.ts';
import type { GivenText } from '../settings/read-settings.ts';
import { cliErrors } from './cli-errors.ts';

/** @throws setting-malformed, metrics-not-local */
export function parseHealthTarget({ text, setting }: GivenText, isAnyAllowed = false): HealthListen {
  const target = parseListenTarget(text, setting);
  if (target.kind === 'unix') return target;
  if (!isAnyAllowed && !isLoopback(target.address))
    throw cliErrors.error('metrics-not-local', { setting, value: text });
  return { kind: 'tcp', address: target.address.text, port: target.port };
}
