// Address ranges: reading them, asking whether an address is in one, and cutting holes into one. The destination guard
// has no "except", so that an exception is a range split around it. Must not know what a range is used for.
import { ipAddressFromOctets, isIpv6, parseIpAddress } from './ip-address.ts';
import type { Cidr, IpAddress } from './name-types.ts';

const cidrPattern = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/;

/** `10.0.0.0/8`, `fd00::/8`, or one address alone. Undefined when malformed or when a bit after the prefix is set. */
export function parseCidr(text: string): Cidr | undefined {
  const [, addressText = '', prefixText] = cidrPattern.exec(text) ?? [];
  const base = parseIpAddress(addressText);
  if (base === undefined) return undefined;
  const prefixLength = prefixText === undefined ? bitLength(base) : Number(prefixText);
  if (prefixLength > bitLength(base)) return undefined;
  const cidr = cidrAround(base, prefixLength);
  return cidr.base.text === base.text ? cidr : undefined;
}

/** The range of that prefix length which holds `address`: its host bits are cleared. */
export function cidrAround(address: IpAddress, prefixLength: number): Cidr {
  const octets = address.octets.map((octet, index) => octet & octetMask(prefixLength, index));
  return { base: ipAddressFromOctets(octets) ?? address, prefixLength };
}

/** Whether the address is in the range; never across families: `10.0.0.0/8` does not hold `::ffff:10.0.0.1`. */
export function cidrContains(cidr: Cidr, address: IpAddress): boolean {
  if (isIpv6(cidr.base) !== isIpv6(address)) return false;
  return cidr.base.octets.every((octet, index) => {
    return octet === ((address.octets[index] ?? 0) & octetMask(cidr.prefixLength, index));
  });
}

/**
 * The smallest list of ranges that covers `range` without `exceptions`, in address order. At most one range for each
 * bit between the two prefix lengths and each exception: 24 for `10.0.0.0/8` without one address.
 */
export function subtractCidrs(range: Cidr, exceptions: readonly Cidr[]): Cidr[] {
  const touching = exceptions.filter((exception) => overlap(range, exception));
  if (touching.length === 0) return [range];
  if (touching.some((exception) => exception.prefixLength <= range.prefixLength)) return [];
  return halves(range).flatMap((half) => subtractCidrs(half, touching));
}

export function cidrText(cidr: Cidr): string {
  return `${cidr.base.text}/${cidr.prefixLength}`;
}

function overlap(a: Cidr, b: Cidr): boolean {
  return a.prefixLength <= b.prefixLength ? cidrContains(a, b.base) : cidrContains(b, a.base);
}

/** the two ranges that a range consists of; only for one that holds more than one address */
function halves(range: Cidr): Cidr[] {
  const prefixLength = range.prefixLength + 1;
  const upper = range.base.octets.slice();
  const index = range.prefixLength >> 3;
  upper[index] = (upper[index] ?? 0) | (0x80 >> (range.prefixLength & 7));
  const upperBase = ipAddressFromOctets(upper) ?? range.base;
  return [
    { base: range.base, prefixLength },
    { base: upperBase, prefixLength },
  ];
}

function bitLength(address: IpAddress): number {
  return address.octets.length * 8;
}

/** the mask that a prefix length puts on the octet at `index` */
function octetMask(prefixLength: number, index: number): number {
  const bits = Math.min(8, Math.max(0, prefixLength - 8 * index));
  return (0xff << (8 - bits)) & 0xff;
}
