// Lines as Envoy 1.40 wrote them for real clients through the generated configuration, with the fields that a test
// changes as arguments.
const common = {
  start: '2026-11-30T10:43:43.477Z',
  id: 'e4bca198-0035-4ff4-8eb6-e38ff83641ef',
  client: '127.0.0.1:36060',
  connect: 'good.test:443',
  host: 'good.test',
  rule: 'intercept:default',
  connection_id: 7,
} as const;

type Fields = { readonly [field: string]: string | number | null };

const line = (fields: Fields): string => JSON.stringify({ ...common, ...fields });

export const opened = (fields: Fields = {}): string =>
  line({
    leg: 'connect',
    type: 'DownstreamTunnelSuccessfullyEstablished',
    authority: 'good.test:443',
    method: 'CONNECT',
    protocol: 'HTTP/1.1',
    status: 200,
    flags: '-',
    details: 'via_upstream',
    duration_ms: 1,
    rx: 0,
    tx: 0,
    ...fields,
  });

export const closed = (fields: Fields = {}): string =>
  opened({
    type: 'DownstreamEnd',
    flags: 'DC',
    details: 'downstream_remote_disconnect',
    duration_ms: 69,
    rx: 788,
    tx: 948,
    ...fields,
  });

export const intercepted = (fields: Fields = {}): string =>
  line({
    leg: 'intercept',
    type: 'DownstreamEnd',
    chain: 'intercept',
    authority: 'good.test',
    sni: 'good.test',
    // the tunnel stood at .478
    start: '2026-11-30T10:43:43.501Z',
    method: 'GET',
    path: '/first',
    protocol: 'HTTP/2',
    upstream_protocol: 'HTTP/2',
    status: 200,
    flags: '-',
    details: 'via_upstream',
    duration_ms: 14,
    first_byte_ms: 12,
    handshake_end_ms: -1,
    leaf: 'serialNumber=5d66ee7e77a38ab6f3bc725c594db779',
    tls: 'TLSv1.3',
    upstream: '192.0.2.7:443',
    upstream_tls: 'TLSv1.3',
    rx: 0,
    tx: 3,
    ...fields,
  });

/** the end of an inner connection, by default one whose handshake succeeded */
export const inner = (fields: Fields = {}): string =>
  line({
    leg: 'listener',
    type: 'NotSet',
    chain: 'intercept',
    flags: '-',
    sni: 'good.test',
    duration_ms: 69,
    handshake_ms: 52,
    client_tls_failure: 'TLS_error:|33554536:system_library:OPENSSL_internal:Connection_reset_by_peer:TLS_error_end',
    tls: 'TLSv1.3',
    leaf: 'serialNumber=5d66ee7e77a38ab6f3bc725c594db779',
    rx: 0,
    tx: 0,
    ...fields,
  });

/** a handshake that never ended */
export const broken = (failure: string | null, fields: Fields = {}): string =>
  inner({ handshake_ms: null, client_tls_failure: failure, ...fields });

export const plain = (fields: Fields = {}): string =>
  intercepted({
    leg: 'plain',
    chain: null,
    connect: null,
    sni: null,
    tls: null,
    leaf: null,
    handshake_end_ms: null,
    authority: 'clear.test:8080',
    host: 'clear.test',
    protocol: 'HTTP/1.1',
    upstream_protocol: 'HTTP/1.1',
    ...fields,
  });

export const relayed = (fields: Fields = {}): string =>
  line({
    leg: 'tcp',
    type: 'TcpConnectionEnd',
    chain: 'relay',
    rule: 'relay:pinned',
    sni: 'good.test',
    flags: '-',
    upstream: '192.0.2.7:443',
    duration_ms: 1200,
    rx: 1000,
    tx: 50000,
    ...fields,
  });
