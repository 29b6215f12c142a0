// Whether it was the gateway's own stop that ended something, from what Envoy notes when it destroys its listeners: all
// else looks as if the client had closed. Pure.
import type { AccessLogLine } from './access-log-line.ts';
import type { FoundReason } from './access-record.ts';

/** seen on Envoy 1.40 after SIGTERM, for connections of internal and of TCP listeners and for those between both */
const signs = /listener_destructor|purging_socket_that_have_not_progressed/i;

export const cutByStop: FoundReason = {
  code: 'gateway-stopped',
  words: 'the gateway stopped before this had ended',
};

export function wasCutByStop({ text }: AccessLogLine): boolean {
  return signs.test(`${text.details ?? ''} ${text.local_close ?? ''}`);
}
