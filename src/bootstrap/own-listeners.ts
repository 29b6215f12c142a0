// Where this gateway itself can be reached: the addresses and ports that a client must not be led to, or its request would
// come back as a new one, from the gateway's own address, without end.
import { parseCidr } from '../names/cidr.ts';
import { isIpv6, isUnspecified } from '../names/ip-address.ts';
import type { Cidr, IpAddress } from '../names/name-types.ts';
import type { GatewaySpec } from '../settings/gateway-spec.ts';
import { stateKeys } from './filter-state.ts';
import type { JsonObject } from './json.ts';

type Listeners = Pick<GatewaySpec, 'listen' | 'ownAddresses' | 'front' | 'transparent'>;

/** the ports that it listens on, each once */
export function ownPorts({ listen, front, transparent }: Listeners): readonly number[] {
  const ports = [listen.port, front?.listen?.port, transparent?.port];
  return [...new Set(ports.filter((port) => port !== undefined))];
}

/** The addresses that it listens on; those of the machine are as they were when the spec was made. */
export function ownAddresses({ listen, front, ownAddresses: others }: Listeners): readonly IpAddress[] {
  return [listen.address, ...(front?.listen === undefined ? [] : [front.listen.address]), ...others];
}

/** connections that the system redirects arrive at any address */
export function isListeningEverywhere(spec: Listeners): boolean {
  return spec.transparent !== undefined || ownAddresses(spec).some(isUnspecified);
}

/** Every form of the addresses behind those ports, as a range. */
export function ownRanges(spec: Listeners): readonly Cidr[] {
  const texts = [
    ...ownAddresses(spec).flatMap(formsOf),
    // Linux takes a connection to the unspecified address to loopback
    ...['0.0.0.0', '::', '::ffff:0.0.0.0'],
    ...(isListeningEverywhere(spec) ? ['127.0.0.0/8', '::1', '::ffff:127.0.0.0/104'] : []),
  ];
  return [...new Set(texts)].flatMap((text) => parseCidr(text) ?? []);
}

/** route match of a request inside a tunnel, whose port is that of the CONNECT */
export function tunnelToOwnPort(spec: Listeners): JsonObject {
  return { filter_state: [{ key: stateKeys.port, string_match: { safe_regex: { regex: ownPorts(spec).join('|') } } }] };
}

/** The same for a request to the proxy. Routes are chosen before the filters run, so that only the authority is there. */
export function requestToOwnPort(spec: Listeners): JsonObject {
  const ports = ownPorts(spec);
  const named = `.*:0*(?:${ports.join('|')})`;
  // no port is port 80; an address without one ends in its bracket
  const regex = ports.includes(80) ? String.raw`${named}|[^:]*|\[.*\]` : named;
  return { headers: [{ name: ':authority', string_match: { safe_regex: { regex } } }] };
}

/** an IPv4 address can also be dialled in its mapped form (RFC 4291 2.5.5.2) */
function formsOf(address: IpAddress): readonly string[] {
  return isIpv6(address) ? [address.text] : [address.text, `::ffff:${address.text}`];
}
