// Who may connect to a listener: a filter chain for the listed networks and none for others, so that they are closed at
// accept, before a byte of theirs is read.
import { parseCidr } from '../names/cidr.ts';
import type { Cidr, IpAddress } from '../names/name-types.ts';
import { addressRange } from './dns-cache.ts';
import type { JsonObject } from './json.ts';

/**
 * Empty `allowFrom`: no check, since the listener is on loopback then. The peer's own address counts, whatever it claims.
 * `protocol` is what the TLS inspector has found.
 */
export function chainMatch(allowFrom: readonly Cidr[], protocol?: 'tls' | 'raw_buffer'): JsonObject {
  const match = {
    ...(allowFrom.length === 0 ? {} : { direct_source_prefix_ranges: allowFrom.map(addressRange) }),
    ...(protocol === undefined ? {} : { transport_protocol: protocol }),
  };
  return Object.keys(match).length === 0 ? {} : { filter_chain_match: match };
}

/** This machine comes from loopback, or from the address that is listened on. */
export function ownMachine(listen: IpAddress): readonly Cidr[] {
  const own = ['127.0.0.0/8', '::1/128', `${listen.text}/${listen.octets.length * 8}`];
  return own.flatMap((text) => parseCidr(text) ?? []);
}
