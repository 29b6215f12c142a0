// The words for names that the whole product shares. Only the parsers of this room create these values.

declare const askedName: unique symbol;
declare const hostName: unique symbol;

/**
 * The bytes of a resource name as Envoy sent them, one char a byte (latin1), so that the answer can echo them exactly,
 * valid UTF-8 or not.
 */
export type AskedName = string & { readonly [askedName]: true };

/** Canonical DNS name: lower case, A-labels, no trailing dot; at most 253 chars, labels at most 63 (RFC 1035 2.3.4). */
export type HostName = string & { readonly [hostName]: true };

/** Canonical address. `text` is RFC 5952 for IPv6; an IPv4-mapped IPv6 address is kept as IPv6. `octets`: 4 or 16. */
export type IpAddress = { readonly text: string; readonly octets: Uint8Array };

/** What an asked name turned out to be. `reason` is from a closed set, fit for a metric label. */
export type ParsedName =
  | { readonly kind: 'dns'; readonly host: HostName }
  | { readonly kind: 'ip'; readonly address: IpAddress }
  | { readonly kind: 'refused'; readonly reason: NameRefusal };

/** A name that was not refused: what policies decide on and leaves are made for. */
export type ValidName = Exclude<ParsedName, { readonly kind: 'refused' }>;

export type NameRefusal = 'empty' | 'too-long' | 'bad-label' | 'bad-character' | 'wildcard' | 'not-an-address';

/** `example.com` exactly, or `*.example.com`: every name below it, at any depth, but not `example.com` itself. */
export type HostPattern =
  | { readonly kind: 'exact'; readonly host: HostName }
  | { readonly kind: 'suffix'; readonly suffix: HostName }
  | { readonly kind: 'address'; readonly address: IpAddress };

/** An address range; `prefixLength` 0 to 32 (IPv4) or 0 to 128 (IPv6), host bits zero. */
export type Cidr = { readonly base: IpAddress; readonly prefixLength: number };
