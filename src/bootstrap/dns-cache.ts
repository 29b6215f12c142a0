// The DNS caches and, in them, the destination guard: every leg, names and literals, every address of an answer, before
// any connect (design decision 5; RBAC on the upstream address is bypassable in two measured ways).
// Envoy demands that all users of one cache name give the very same settings: there is one object for each.
import { parseCidr, subtractCidrs } from '../names/cidr.ts';
import type { Cidr } from '../names/name-types.ts';
import type { GatewaySpec, ListenAddress } from '../settings/gateway-spec.ts';
import { extension, type JsonObject } from './json.ts';
import { maxCachedNames } from './limits.ts';
import { ownRanges } from './own-listeners.ts';

/** refused as destinations, from the special-purpose registries (RFC 6890) and what they leave out */
const guardedRanges = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  'fc00::/7',
  'fe80::/10',
  'ff00::/8',
  // forms that carry an IPv4 address, and site-local of old: SIIT, Teredo, 6to4 (RFC 2765, 4380, 3056, 3879)
  '::ffff:0:0:0/96',
  '2001::/32',
  '2002::/16',
  'fec0::/10',
  // metadata and DHCP of Azure, a public address
  '168.63.129.16/32',
] as const;

/** The guarded ranges with the exceptions cut out: Envoy's address matcher has no "except". */
export function refusedDestinations(exceptions: readonly Cidr[]): readonly Cidr[] {
  return guardedRanges.flatMap((text) => {
    const range = parseCidr(text);
    return range === undefined ? [] : subtractCidrs(range, exceptions);
  });
}

export type DnsCaches = {
  readonly egress: JsonObject;
  /** for the ports that the gateway itself listens on: no exception opens its own addresses there */
  readonly ownPorts: JsonObject;
};

export function dnsCaches(spec: GatewaySpec): DnsCaches {
  const refused = refusedDestinations(spec.allowDestinations);
  // addresses that are not known are private ones mostly: where they may be the gateway's own, no exception counts
  const refusedAtOwnPorts = spec.knowsOwnAddresses ? refused : refusedDestinations([]);
  return {
    egress: dnsCache('egress', refused, spec.dnsServers),
    ownPorts: dnsCache('egress-own-ports', [...refusedAtOwnPorts, ...ownRanges(spec)], spec.dnsServers),
  };
}

function dnsCache(name: string, refused: readonly Cidr[], dnsServers: readonly ListenAddress[]): JsonObject {
  return {
    name,
    // happy eyeballs, 300 ms; the other families lose hosts whose first address is dead (measured)
    dns_lookup_family: 'ALL',
    max_hosts: maxCachedNames,
    // of names without an address: nobody's request asks again, so that this is how long a name that did not exist yet, or
    // whose answers were all refused, stays so (measured); the others are asked for again by their TTL
    dns_refresh_rate: '10s',
    dns_min_refresh_rate: '5s',
    host_ttl: '60s',
    dns_query_timeout: '3s',
    // of names that nobody answered for
    dns_failure_refresh_rate: { base_interval: '1s', max_interval: '10s' },
    dns_cache_circuit_breaker: { max_pending_requests: 4096 },
    typed_dns_resolver_config: resolver(dnsServers),
    resolved_address_filter: { ranges: refused.map(addressRange) },
  };
}

export function addressRange(cidr: Cidr): JsonObject {
  return { address_prefix: cidr.base.text, prefix_len: cidr.prefixLength };
}

export function socketAddress({ address, port }: ListenAddress): JsonObject {
  return { socket_address: { address: address.text, port_value: port } };
}

/**
 * c-ares; without servers it reads the system's. Search domains stay out, so that a name means the same everywhere: in
 * a cluster `api.example.com` would first be asked below the cluster's own domain.
 */
function resolver(servers: readonly ListenAddress[]): JsonObject {
  return extension(
    'envoy.network.dns_resolver.cares',
    'envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig',
    {
      ...(servers.length === 0 ? {} : { resolvers: servers.map(socketAddress) }),
      dns_resolver_options: { no_default_search_domain: true },
      // by default a server that is silent is waited for longer than `dns_query_timeout`, and no second one is asked
      query_timeout_seconds: 1,
      query_tries: 3,
    },
  );
}
