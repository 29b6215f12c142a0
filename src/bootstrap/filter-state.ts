// Filter state: what the outer leg knows of a client and hands to the inner legs, and how it is computed.
//
// Everything of ours that crosses the internal-listener hop is `envoy.hashable_string`: with `envoy.string` the object is
// no part of the upstream pool's key, and concurrent tunnels take each other's identity (1,791 of 1,800, measured).
import { extension, typed, type JsonObject } from './json.ts';

export const stateKeys = {
  /** one id on every leg of a connection, never chosen by a client */
  id: 'leafgate.id',
  /** address and port of the outer client */
  client: 'leafgate.client',
  /** the same of a connection that the system has redirected, on its way to the proxy */
  redirectedClient: 'leafgate.redirected_client',
  /** the network that such a client is counted by */
  redirectedNetwork: 'leafgate.redirected_network',
  /** CONNECT authority as sent, cut to what a record shows */
  connectAuthority: 'leafgate.connect_authority',
  /** normalised host of the CONNECT */
  connectHost: 'leafgate.connect_host',
  /** normalised host of the request that is being decided; never shared, each leg computes its own */
  host: 'leafgate.host',
  /** port that the policy decides on and that is dialled */
  port: 'leafgate.port',
  /** verified URI SAN of the client; absent on listeners that verify none */
  actor: 'leafgate.actor',
  /** all URI SANs of that certificate */
  peerUris: 'leafgate.peer_uris',
  /** the cluster with the client certificate that the request's host picks */
  credential: 'leafgate.credential',
  /** `<verdict>:<rule>`, which chooses the inner chain */
  rule: 'leafgate.rule',
  /** `true` or not, piece by piece: whether the names of a leg agree */
  namesAgree: 'leafgate.names_agree',
  /** `true` for a request whose target is the gateway itself */
  isOwnAddress: 'leafgate.is_own_address',
} as const;

/** Envoy's own objects, read by its forward proxies; each has a factory of its own name. */
export const dynamicHost = 'envoy.upstream.dynamic_host';
const dynamicPort = 'envoy.upstream.dynamic_port';

const hashable = 'envoy.hashable_string';
const maxShownAuthority = 300;

/** `bücher` never gets here: hosts are bytes. Lower case, without brackets, without ALL trailing dots, without port. */
export const normalisedRequestHost = String.raw`re.extract(request.host.lowerAscii(), '^\\[?(.*?)\\]?\\.*(:[0-9]+)?$', '\\1')`;
/** the inspector lower-cases a server name but keeps its dots */
export const normalisedServerName = String.raw`re.extract(connection.requested_server_name.lowerAscii(), '^(.*?)\\.*$', '\\1')`;
/** filter state is bytes in CEL: without `string()` a comparison is silently false (measured) */
export const connectHostInCel = `string(filter_state['${stateKeys.connectHost}'])`;

/** a literal address, no name */
export const connectsToAddress = String.raw`${connectHostInCel}.matches('^([0-9.]+|[0-9a-f.]*:[0-9a-f:.]*)$')`;

/** brackets stay: the forward proxy takes an IPv6 literal for a name without them */
const dialledHost = String.raw`re.extract(request.host.lowerAscii(), '^(.*?)\\.*(:[0-9]+)?$', '\\1')`;
/** leading zeros go, or `:0443` would pass a rule for 443; without a port the policy and the dialling both see 80 */
const requestPort = String.raw`request.host.matches('.*:[0-9]+$') ? re.extract(request.host, ':0*([0-9]+)$', '\\1') : '80'`;

export const celFormatter = extension('envoy.formatter.cel', 'envoy.extensions.formatter.cel.v3.Cel', {
  cel_config: { enable_string_functions: true, enable_string_conversion: true, enable_string_concat: true },
});

/** Parses as a plain format; `omit_empty_values` makes a failed expression empty, not `-`. */
export function plainFormat(format: string): JsonObject {
  return { text_format_source: { inline_string: format }, omit_empty_values: true };
}

export function celFormat(expressions: string): JsonObject {
  return { ...plainFormat(expressions), formatters: [celFormatter] };
}

export function stateText(key: string): string {
  return `%FILTER_STATE(${key}:PLAIN)%`;
}

export function cel(expression: string): string {
  return `%CEL(${expression})%`;
}

/** `user:password@host` has no place in a request (RFC 9110 4.2.4); some send it all the same, and no record may have it */
export function hostWithoutCredentials(host: string): string {
  return String.raw`re.extract(${host}, '^(?:.*@)?(.*)$', '\\1')`;
}

/** an object of this leg alone */
export function ownObject(key: string, format: JsonObject): JsonObject {
  return { object_key: key, factory_key: hashable, skip_if_empty: true, format_string: format };
}

/** an object that the next hop receives too */
export function sharedObject(key: string, format: JsonObject, factory = hashable): JsonObject {
  return { ...ownObject(key, format), factory_key: factory, shared_with_upstream: 'ONCE' };
}

const shownAuthority = cel(hostWithoutCredentials('request.host')).replace(/%$/, `:${maxShownAuthority}%`);

/** the same object where it is handed on to no hop */
export function keptHere(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([field]) => field !== 'shared_with_upstream'));
}

/** The host of this request, for the policy of this leg. */
export const requestHostObject = ownObject(stateKeys.host, celFormat(cel(normalisedRequestHost)));

const clientObject = sharedObject(stateKeys.client, plainFormat('%DOWNSTREAM_REMOTE_ADDRESS%'));

/** What the explicit listener gives to the inner legs. */
export const explicitClientObjects: readonly JsonObject[] = [
  sharedObject(stateKeys.id, plainFormat('%UNIQUE_ID%')),
  clientObject,
  sharedObject(stateKeys.connectAuthority, celFormat(shownAuthority)),
  requestHostObject,
  sharedObject(stateKeys.connectHost, celFormat(cel(normalisedRequestHost))),
  sharedObject(stateKeys.port, celFormat(cel(requestPort))),
  sharedObject(dynamicHost, celFormat(cel(dialledHost)), dynamicHost),
  sharedObject(dynamicPort, celFormat(cel(requestPort)), dynamicPort),
];

/** The same behind the transparent listener, where the connection comes from Envoy itself. */
export const redirectedClientObjects = explicitClientObjects.map((object) =>
  object === clientObject ? sharedObject(stateKeys.client, plainFormat(stateText(stateKeys.redirectedClient))) : object,
);

/** clear HTTP that the system has redirected: the host as the request names it, the port as the client connected */
const redirectedPort = plainFormat('%DOWNSTREAM_LOCAL_PORT%');
export const transparentHttpObjects: readonly JsonObject[] = [
  ownObject(stateKeys.id, plainFormat('%UNIQUE_ID%')),
  keptHere(clientObject),
  requestHostObject,
  ownObject(stateKeys.connectHost, celFormat(cel(normalisedRequestHost))),
  ownObject(stateKeys.port, redirectedPort),
  { ...ownObject(dynamicHost, celFormat(cel(dialledHost))), factory_key: dynamicHost },
  { ...ownObject(dynamicPort, redirectedPort), factory_key: dynamicPort },
];

/** where the policy filter leaves the name of its outcome; a client cannot set dynamic metadata */
export const decidingRule = 'envoy.filters.http.rbac:policy_enforced_effective_policy_id';

export const ruleObject = sharedObject(stateKeys.rule, plainFormat(`%DYNAMIC_METADATA(${decidingRule})%`));

export function httpStateFilter(name: string, objects: readonly JsonObject[]): JsonObject {
  return extension(name, httpStateType, { on_request_headers: objects });
}

export const httpStateType = 'envoy.extensions.filters.http.set_filter_state.v3.Config';

export function networkStateFilter(objects: readonly JsonObject[]): JsonObject {
  return {
    name: 'envoy.filters.network.set_filter_state',
    typed_config: typed('envoy.extensions.filters.network.set_filter_state.v3.Config', { on_new_connection: objects }),
  };
}
