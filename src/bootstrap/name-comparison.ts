// Invariant 7: nothing leaves under a lying name. The host of the CONNECT, the server name and the authority must be the
// same, by case, trailing dots and brackets ignored; on any failure to compute them the answer is no.
import { denyWhere } from './denial.ts';
import {
  cel,
  celFormat,
  connectHostInCel,
  connectsToAddress,
  normalisedRequestHost,
  normalisedServerName,
  ownObject,
  stateKeys,
} from './filter-state.ts';
import { extension, type JsonObject } from './json.ts';
import { namesRuleName } from './local-replies.ts';

/**
 * A port in the authority must be the one of the CONNECT, which is dialled and decided on. None claims no other: some
 * clients leave it out beside ports that are not the scheme's (gRPC's authority override), against RFC 9110 7.2.
 */
const requestPortAgrees = String.raw`!request.host.matches('.*:[0-9]+$') || re.extract(request.host, ':0*([0-9]+)$', '\\1') == string(filter_state['${stateKeys.port}'])`;

export type Comparison = { readonly object: JsonObject; readonly agreed: string };

/** decrypted requests: server name, authority and CONNECT host, all three */
export const interceptComparison = comparison([
  `${normalisedServerName} == ${normalisedRequestHost}`,
  `${normalisedRequestHost} == ${connectHostInCel}`,
  requestPortAgrees,
]);

/** clear requests inside a CONNECT: Host and CONNECT host */
export const clearComparison = comparison([`${normalisedRequestHost} == ${connectHostInCel}`, requestPortAgrees]);

/** clear requests that the system has redirected: there is no other name, but a port may be given */
export const portComparison = comparison([requestPortAgrees]);

/** relayed TLS: server name and CONNECT host; none is needed where the CONNECT names an address (RFC 6066 section 3) */
export const relayComparison = comparison([
  `${normalisedServerName} == ${connectHostInCel} || (connection.requested_server_name == '' && ${connectsToAddress})`,
]);

export function namesHttpFilter({ agreed }: Comparison): JsonObject {
  return extension('envoy.filters.http.rbac', 'envoy.extensions.filters.http.rbac.v3.RBAC', {
    rules_stat_prefix: 'names_',
    rules: denyUnless(agreed),
  });
}

/** Closes at the first byte of the client, before any of them is forwarded. Fit for client-first protocols only. */
export function namesNetworkFilter({ agreed }: Comparison): JsonObject {
  return extension('envoy.filters.network.rbac', 'envoy.extensions.filters.network.rbac.v3.RBAC', {
    stat_prefix: 'names_',
    rules: denyUnless(agreed),
  });
}

function comparison(expressions: readonly string[]): Comparison {
  return {
    object: ownObject(stateKeys.namesAgree, celFormat(expressions.map(cel).join('/'))),
    agreed: expressions.map(() => 'true').join('/'),
  };
}

function denyUnless(agreed: string): JsonObject {
  const agrees = { filter_state: { key: stateKeys.namesAgree, string_match: { exact: agreed } } };
  return denyWhere(namesRuleName, { not_id: agrees });
}
