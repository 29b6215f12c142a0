// Why a redirected connection found no chain of the transparent listener. Pure.
import type { AccessLogLine } from './access-log-line.ts';
import type { FoundReason } from './access-record.ts';

export const oddServerName: FoundReason = {
  code: 'no-leaf',
  words: 'the server name that the client sent is no host name, so that nothing can be minted for it',
};

const notRedirected: FoundReason = {
  code: 'not-redirected',
  words: 'it was made to the transparent port itself, or comes from a network that may not connect',
};

export function explainRedirected({ text }: AccessLogLine): FoundReason {
  // as a chain takes it; Envoy writes `invalid:` in front of others
  const isOdd = text.sni !== undefined && !/^[a-z0-9._-]{1,253}$/.test(text.sni);
  return isOdd ? oddServerName : notRedirected;
}
