// The access record: one JSON object a line, one file, seven kinds of line (`leg`). The field names are what `observe`
// parses. A leg carries what it can know; what a client chose is cut, so that no request costs a long line.
import {
  cel,
  celFormatter,
  connectHostInCel,
  decidingRule,
  hostWithoutCredentials,
  stateKeys,
  stateText,
} from './filter-state.ts';
import { extension, type JsonObject } from './json.ts';

export const recordLegs = ['front', 'redirected', 'connect', 'plain', 'listener', 'intercept', 'clear', 'tcp'] as const;
export type RecordLeg = (typeof recordLegs)[number];

const maxAuthority = 300;
const maxPath = 1024;
const maxMethod = 32;
/** a SPIFFE ID has at most 2,048 bytes; the record cuts it further */
const maxActor = 2048;

/** the one that was connected to, of several; where none was, the first that was tried */
const originAddress = `%COALESCE(${JSON.stringify({
  operators: [{ command: 'UPSTREAM_REMOTE_ADDRESS' }, { command: 'UPSTREAM_HOST' }],
})})%`;

/** What decided this request, which a new policy may make another rule than the tunnel's; the tunnel's if none did. */
const ruleOfRequest = `%COALESCE(${JSON.stringify({
  operators: [
    { command: 'DYNAMIC_METADATA', param: decidingRule },
    { command: 'FILTER_STATE', param: `${stateKeys.rule}:PLAIN` },
  ],
})})%`;

/** every field that some leg writes, `leg` apart */
const operators = {
  type: '%ACCESS_LOG_TYPE%',
  start: '%START_TIME(%Y-%m-%dT%H:%M:%S.%3fZ)%',
  id: stateText(stateKeys.id),
  client: stateText(stateKeys.client),
  /** from filter state only: a listener's own operator shows the certificate of a handshake that failed, too (measured) */
  actor: `%FILTER_STATE(${stateKeys.actor}:PLAIN):${maxActor}%`,
  connect: stateText(stateKeys.connectAuthority),
  host: cut(cel(hostWithoutCredentials(`string(filter_state['${stateKeys.host}'])`)), maxAuthority),
  rule: ruleOfRequest,
  sni: '%REQUESTED_SERVER_NAME%',
  method: `%REQ(:METHOD):${maxMethod}%`,
  authority: cut(cel(hostWithoutCredentials('request.host')), maxAuthority),
  /** without the query, which may hold secrets */
  path: `%PATH(NQ:PATH):${maxPath}%`,
  protocol: '%PROTOCOL%',
  upstream_protocol: '%UPSTREAM_PROTOCOL%',
  status: '%RESPONSE_CODE%',
  flags: '%RESPONSE_FLAGS%',
  details: '%RESPONSE_CODE_DETAILS%',
  duration_ms: '%DURATION%',
  chain: '%FILTER_CHAIN_NAME%',
  connection_id: '%CONNECTION_ID%',
  tls: '%DOWNSTREAM_TLS_VERSION%',
  /** between the client and the proxy itself */
  proxy_tls: '%DOWNSTREAM_TLS_VERSION%',
  /** Envoy has no operator for the leaf's serial, so that our leaves repeat it in their subject */
  leaf: '%DOWNSTREAM_LOCAL_SUBJECT%',
  /** includes the wait for the leaf; absent when the handshake never ended */
  handshake_ms: '%DOWNSTREAM_HANDSHAKE_DURATION%',
  /** the same operator counts from the request where there is one, so that it is 0 or less (measured) */
  handshake_end_ms: '%DOWNSTREAM_HANDSHAKE_DURATION%',
  /** from the first byte of the request to the first byte of the answer to the client */
  first_byte_ms: '%COMMON_DURATION(DS_RX_BEG:DS_TX_BEG:ms)%',
  client_tls_failure: '%DOWNSTREAM_TRANSPORT_FAILURE_REASON%',
  local_close: '%DOWNSTREAM_LOCAL_CLOSE_REASON%',
  termination: '%CONNECTION_TERMINATION_DETAILS%',
  upstream: originAddress,
  upstream_tls: '%UPSTREAM_TLS_VERSION%',
  upstream_failure: '%UPSTREAM_TRANSPORT_FAILURE_REASON%',
  rx: '%BYTES_RECEIVED%',
  tx: '%BYTES_SENT%',
  grpc_status: '%GRPC_STATUS%',
} as const;

export type RecordField = keyof typeof operators | 'leg';
export const recordFields: readonly RecordField[] = ['leg', ...recordFieldNames(operators)];

const everyLeg = [
  'type',
  'start',
  'id',
  'client',
  'actor',
  'host',
  'rule',
  'flags',
  'duration_ms',
  'connection_id',
] as const;
const httpLeg = [
  ...everyLeg,
  'method',
  'authority',
  'protocol',
  'status',
  'details',
  'first_byte_ms',
  'rx',
  'tx',
] as const;
const forwardingLeg = [...httpLeg, 'path', 'upstream_protocol', 'upstream', 'upstream_failure', 'grpc_status'] as const;
const innerLeg = ['connect', 'chain'] as const;

/** a connection to the proxy before any request: there is no id yet, no host and no rule */
const frontLeg = ['type', 'start', 'client', 'flags', 'duration_ms', 'connection_id', 'chain', 'sni'] as const;
const handshake = ['handshake_ms', 'client_tls_failure', 'local_close', 'termination', 'rx', 'tx'] as const;

const fieldsOfLeg: { readonly [leg in RecordLeg]: readonly (keyof typeof operators)[] } = {
  front: [...frontLeg, 'proxy_tls', ...handshake],
  redirected: [...frontLeg, 'connect', ...handshake],
  connect: [...httpLeg, 'connect', 'termination', 'proxy_tls'],
  plain: [...forwardingLeg, 'proxy_tls'],
  listener: [...everyLeg, ...innerLeg, 'sni', 'tls', 'leaf', ...handshake],
  intercept: [...forwardingLeg, ...innerLeg, 'sni', 'tls', 'leaf', 'handshake_end_ms', 'upstream_tls'],
  clear: [...forwardingLeg, ...innerLeg],
  tcp: [...everyLeg, ...innerLeg, 'sni', 'termination', 'upstream', 'upstream_failure', 'rx', 'tx'],
};

/** legs without an HTTP request know the CONNECT's host and rule */
const ofTunnel = {
  host: cut(cel(hostWithoutCredentials(connectHostInCel)), maxAuthority),
  rule: stateText(stateKeys.rule),
};

/**
 * The client's own connection: also known of a request that was too broken for any filter to see it. One that the system has
 * redirected comes to the proxy from Envoy itself.
 */
const ofClient = {
  client: `%COALESCE(${JSON.stringify({
    operators: [
      { command: 'FILTER_STATE', param: `${stateKeys.redirectedClient}:PLAIN` },
      { command: 'DOWNSTREAM_REMOTE_ADDRESS' },
    ],
  })})%`,
};

/** listeners count no bytes of a body */
const wireBytes = { rx: '%DOWNSTREAM_WIRE_BYTES_RECEIVED%', tx: '%DOWNSTREAM_WIRE_BYTES_SENT%' };

/** operators that a leg knows under another name than the rest */
const operatorsOfLeg: { readonly [leg in RecordLeg]?: { readonly [field in keyof typeof operators]?: string } } = {
  front: { ...ofClient, ...wireBytes },
  // where the client meant to go
  redirected: { ...ofClient, ...wireBytes, connect: '%DOWNSTREAM_LOCAL_ADDRESS%' },
  connect: ofClient,
  plain: ofClient,
  listener: { ...ofTunnel, ...wireBytes },
  tcp: ofTunnel,
};

/** The fields of one leg's line, each with the operator that fills it. */
export function recordFormat(leg: RecordLeg): JsonObject {
  const own = operatorsOfLeg[leg] ?? {};
  const fields = fieldsOfLeg[leg].map((field) => [field, own[field] ?? operators[field]] as const);
  return { leg, ...Object.fromEntries(fields) };
}

/** A logger that writes one leg's lines to the file; `filter` picks requests when a listener has two legs. */
export function accessLog(leg: RecordLeg, path: string, filter?: JsonObject): JsonObject {
  return {
    ...(filter === undefined ? {} : { filter }),
    ...extension('envoy.access_loggers.file', 'envoy.extensions.access_loggers.file.v3.FileAccessLog', {
      path,
      log_format: { json_format: recordFormat(leg), omit_empty_values: true, formatters: [celFormatter] },
    }),
  };
}

/** an operator's value, cut */
function cut(operator: string, length: number): string {
  return operator.replace(/%$/, `:${length}%`);
}

function recordFieldNames(table: typeof operators): readonly (keyof typeof operators)[] {
  return Object.keys(table) as (keyof typeof operators)[];
}

/** lines of a listener for connections that no chain took */
export const neverMatched: JsonObject = { response_flag_filter: { flags: ['NR'] } };
