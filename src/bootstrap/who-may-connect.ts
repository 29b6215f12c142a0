// Who may connect to a listener: a filter chain for the listed networks and none for others, so that they are closed at
// accept, before a byte of theirs is read.
import type { Cidr } from '../names/name-types.ts';
import { addressRange } from './dns-cache.ts';
import type { JsonObject } from './json.ts';

/** Empty: no check, since the listener is on loopback then. The peer's own address counts, whatever it claims. */
export function connectingFrom(allowFrom: readonly Cidr[]): JsonObject {
  if (allowFrom.length === 0) return {};
  return { filter_chain_match: { direct_source_prefix_ranges: allowFrom.map(addressRange) } };
}
