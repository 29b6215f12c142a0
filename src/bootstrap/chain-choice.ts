// How a listener chooses a chain for a connection: what the client has shown of itself, and the words to say it in. Must not
// know which chains there are.
import { extension, typed, type JsonObject } from './json.ts';

/** find out TLS with its server name, and clear HTTP; neither takes a byte away */
export const protocolInspectors: readonly JsonObject[] = [
  extension('envoy.filters.listener.tls_inspector', 'envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector'),
  extension(
    'envoy.filters.listener.http_inspector',
    'envoy.extensions.filters.listener.http_inspector.v3.HttpInspector',
  ),
];

const inputs = 'envoy.extensions.matching.common_inputs.network.v3';

export const isTls = matches(`${inputs}.TransportProtocolInput`, { exact: 'tls' });

/**
 * A server name that a certificate can be asked for. What the selector asks for it asks for ever, and a name that is not
 * UTF-8 cannot even be answered (docs/decisions/0004): here a client chooses what Envoy keeps.
 */
export const isMintableName = serverNameMatches('[a-z0-9._-]{1,253}');

/** `\C` is any byte, also where the bytes are no UTF-8 */
export const isWithoutName: JsonObject = { not_matcher: serverNameMatches('\\C+') };

/** what a ClientHello offers by ALPN stands in the same input, so that TLS has to be ruled out */
export const isClearHttp = allOf(
  { not_matcher: isTls },
  anyOf(applicationProtocolContains('http/1'), applicationProtocolContains('h2c')),
);

/** of the connection, as the client meant it where the system has redirected it */
export function destinationPortIn(ports: readonly number[]): JsonObject {
  return matches(`${inputs}.DestinationPortInput`, { safe_regex: { google_re2: {}, regex: ports.join('|') } });
}

export function allOf(...predicate: readonly JsonObject[]): JsonObject {
  return { and_matcher: { predicate } };
}

export function anyOf(...predicate: readonly JsonObject[]): JsonObject {
  return { or_matcher: { predicate } };
}

export function chosen(chain: string, predicate: JsonObject): JsonObject {
  return {
    predicate,
    on_match: { action: { name: chain, typed_config: typed('google.protobuf.StringValue', { value: chain }) } },
  };
}

function applicationProtocolContains(contains: string): JsonObject {
  return matches('envoy.extensions.matching.common_inputs.network.v3.ApplicationProtocolInput', { contains });
}

/** the whole name must match; xds' own matcher wants its engine named */
function serverNameMatches(regex: string): JsonObject {
  const input = 'envoy.extensions.matching.common_inputs.network.v3.ServerNameInput';
  return matches(input, { safe_regex: { google_re2: {}, regex } });
}

function matches(inputType: string, valueMatch: JsonObject): JsonObject {
  return { single_predicate: { input: extension('input', inputType), value_match: valueMatch } };
}
