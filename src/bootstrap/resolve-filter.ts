// `--resolve` overrides as a filter of their own, live in Envoy: the address to dial for a host and port. Server name,
// Host and verification keep the name, and the destination guard still judges the address.
import { isIpv6 } from '../names/ip-address.ts';
import type { IpAddress } from '../names/name-types.ts';
import type { ResolveOverride } from '../settings/gateway-spec.ts';
import {
  cel,
  celFormat,
  connectHostInCel,
  connectsToAddress,
  dynamicHost,
  httpStateType,
  sharedObject,
  stateKeys,
} from './filter-state.ts';
import { typed, type JsonObject } from './json.ts';
import { filterDocument, type FollowedDocument } from './rendered-files.ts';

export const resolveFilterName = 'resolve';

/**
 * As curl has it (tried): the last override of a host and port counts, and a host's own before that of any name (`*`).
 * Meant for tens of them: the map is built anew for each request.
 */
export function resolveDocument(overrides: readonly ResolveOverride[]): FollowedDocument {
  const objects = overrides.length === 0 ? [] : [overrideObject(overrides)];
  return filterDocument(resolveFilterName, typed(httpStateType, { on_request_headers: objects }));
}

/** Nothing in the expression needs quoting: host names and addresses hold no quote, backslash or percent sign. */
function overrideObject(overrides: readonly ResolveOverride[]): JsonObject {
  const addresses = new Map<string, string>();
  for (const { host, port, address } of overrides) addresses.set(`${host}:${port}`, dialText(address));
  const map = `{${[...addresses].map(([key, address]) => `'${key}': '${address}'`).join(', ')}}`;
  const port = `':' + string(filter_state['${stateKeys.port}'])`;
  const exact = `${connectHostInCel} + ${port}`;
  const any = `!${connectsToAddress} && '*' + ${port}`;
  const chosen = `${exact} in ${map} ? ${map}[${exact}] : ${any} in ${map} ? ${map}['*' + ${port}] : ''`;
  return sharedObject(dynamicHost, celFormat(cel(chosen)), dynamicHost);
}

/** the forward proxy takes an IPv6 literal for a name unless it has brackets */
function dialText(address: IpAddress): string {
  return isIpv6(address) ? `[${address.text}]` : address.text;
}
