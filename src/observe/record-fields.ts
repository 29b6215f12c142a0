// What each field of a record means, in the order in which the JSON has them; docs/records.md is made from it. The type
// holds it complete: a field without a row, or a row without a field, does not compile.
import type { AccessRecord } from './access-record.ts';

type FieldMeaning = {
  readonly meaning: string;
  /** the kinds of record that can have it; `all` always have it */
  readonly of: string;
};

const http = 'what reads HTTP';
const tls = 'what ends TLS';
const origin = 'what reached for an origin';

export const recordFieldTable: { readonly [field in keyof AccessRecord]-?: FieldMeaning } = {
  kind: { of: 'all', meaning: '`request`, `connect`, `handshake` or `tunnel`, as below' },
  time: { of: 'all', meaning: 'when it began, RFC 3339 in UTC, to the millisecond' },
  id: {
    of: 'all',
    meaning:
      'the same for everything that came through one CONNECT; empty where HTTP itself was broken, or TLS with the proxy',
  },
  client: { of: 'all', meaning: '`address:port` of the client' },
  actor: { of: 'clients with a certificate', meaning: 'the verified URI of the client certificate' },
  connect: { of: 'tunnels and what is in them', meaning: 'host and port of the CONNECT, as the client wrote them' },
  sni: { of: tls, meaning: 'server name in the TLS of the client' },
  host: { of: 'all', meaning: 'host that was decided on: lower case, without brackets and trailing dots' },
  port: { of: 'most', meaning: 'port of the CONNECT, or of the request where there was none' },
  decision: {
    of: 'all',
    meaning: '`intercept`, `relay`, `tcp` or `deny`; `deny` also where a guard refused what a rule lets through',
  },
  rule: { of: 'all', meaning: 'name of the rule that decided; `default` where none did' },
  outcome: {
    of: 'all',
    meaning: '`ok`, `refused` (a rule or guard of this gateway) or `failed` (origin, client or network)',
  },
  clientTls: { of: tls, meaning: 'what the client made of our certificate, as below' },
  leaf: { of: tls, meaning: '`minted` when this connection was the first to show the leaf, `cached` after it' },
  leafSerial: { of: tls, meaning: 'serial number of the leaf, lower-case hex' },
  tls: { of: tls, meaning: 'TLS version between client and gateway, inside the tunnel' },
  proxyTls: {
    of: 'connections to a proxy that speaks TLS',
    meaning: 'TLS version between the client and the proxy itself',
  },
  method: { of: http, meaning: 'request method, at most 32 characters' },
  path: { of: http, meaning: 'path without query and fragment, at most 1,024 characters' },
  protocol: { of: http, meaning: 'HTTP version of the client' },
  upstreamProtocol: { of: http, meaning: 'HTTP version of the origin' },
  status: { of: http, meaning: 'status that the client got; 0 when it left before one' },
  grpcStatus: { of: 'gRPC', meaning: 'number of the gRPC status' },
  handshakeMs: {
    of: tls,
    meaning: 'from the open tunnel to the end of the TLS handshake, the wait for the leaf included',
  },
  firstByteMs: { of: http, meaning: 'from the first byte of the request to the first byte of the answer' },
  durationMs: { of: 'all', meaning: 'from the first to the last byte, or for as long as the tunnel stood' },
  bytesReceived: { of: 'all', meaning: 'bytes from the client: of the body in HTTP, all of them in tunnels' },
  bytesSent: { of: 'all', meaning: 'bytes to the client, counted in the same way' },
  upstream: { of: origin, meaning: '`address:port` of the origin, or the path of its socket' },
  upstreamTls: { of: 'decrypted requests', meaning: 'TLS version between gateway and origin' },
  originCertificate: {
    of: 'decrypted requests',
    meaning: '`verified`, or why it was refused: `expired`, `not_trusted`, `wrong_name`',
  },
  cause: { of: 'failed origins', meaning: 'why, in the word that the client was told ([answers.md](answers.md))' },
  upstreamFailure: {
    of: 'failed origins',
    meaning: 'the same in the words of Envoy and BoringSSL, at most 1,024 characters; no client sees them',
  },
  reason: { of: 'refused and failed', meaning: '`code` from the table below, `words` for people, and a `remedy`' },
};
