// Where health and metrics are served, from the setting to what the server takes.
import type { HealthListen } from '../observe/health-server.ts';
import type { ListenTarget } from '../settings/parse-listen.ts';

export function healthTarget(target: ListenTarget): HealthListen {
  return target.kind === 'unix' ? target : { kind: 'tcp', address: target.address.text, port: target.port };
}
