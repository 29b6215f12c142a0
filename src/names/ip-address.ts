// Reading and writing IP addresses: text in, octets and one canonical text out. Strict on purpose: no zone id, no
// brackets, no octal, hexadecimal or short IPv4 forms, since resolvers, Envoy and TLS stacks disagree on those.
// Must not know what an address is used for.
import type { IpAddress } from './name-types.ts';

/** a decimal octet without a leading zero (RFC 6943 3.1.1: other forms are read differently by different stacks) */
const ipv4Pattern = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const groupPattern = /^[0-9a-f]{1,4}$/i;
const groupCount = 8;

/** `1.2.3.4` or an RFC 4291 text of an IPv6 address; undefined for anything else. */
export function parseIpAddress(text: string): IpAddress | undefined {
  const octets = text.includes(':') ? ipv6Octets(text) : ipv4Octets(text);
  return octets === undefined ? undefined : ipAddressFromOctets(octets);
}

/** The address of 4 or 16 octets (copied); undefined for any other length. */
export function ipAddressFromOctets(octets: Uint8Array): IpAddress | undefined {
  if (octets.length !== 4 && octets.length !== 16) return undefined;
  const copy = Uint8Array.from(octets);
  return { text: copy.length === 4 ? copy.join('.') : ipv6Text(copy), octets: copy };
}

export function isIpv6(address: IpAddress): boolean {
  return address.octets.length === 16;
}

function ipv4Octets(text: string): Uint8Array | undefined {
  return ipv4Pattern.test(text) ? Uint8Array.from(text.split('.'), Number) : undefined;
}

function ipv6Octets(text: string): Uint8Array | undefined {
  const [head = '', tail, ...more] = text.split('::');
  if (more.length > 0) return undefined;
  if (tail === undefined) return octetsOfGroups(groupsOf(head, true), groupCount);
  const left = head === '' ? [] : groupsOf(head, false);
  const right = tail === '' ? [] : groupsOf(tail, true);
  if (left === undefined || right === undefined) return undefined;
  // `::` stands for at least one group of zeros (RFC 5952 4.2.2 shows what is lost otherwise)
  const missing = groupCount - left.length - right.length;
  if (missing < 1) return undefined;
  return octetsOfGroups([...left, ...Array<number>(missing).fill(0), ...right], groupCount);
}

/** The 16-bit groups of a piece of IPv6 text; `mayEndInIpv4` allows `…:1.2.3.4` at its end. */
function groupsOf(piece: string, mayEndInIpv4: boolean): number[] | undefined {
  const parts = piece.split(':');
  const groups: number[] = [];
  for (const [index, part] of parts.entries()) {
    if (groupPattern.test(part)) {
      groups.push(parseInt(part, 16));
      continue;
    }
    const embedded = mayEndInIpv4 && index === parts.length - 1 ? ipv4Octets(part) : undefined;
    if (embedded === undefined) return undefined;
    const [a = 0, b = 0, c = 0, d = 0] = embedded;
    groups.push(a * 256 + b, c * 256 + d);
  }
  return groups;
}

function octetsOfGroups(groups: readonly number[] | undefined, expected: number): Uint8Array | undefined {
  if (groups?.length !== expected) return undefined;
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
}

/** RFC 5952: lower case, no leading zeros, the first longest run of two or more zero groups as `::`. */
function ipv6Text(octets: Uint8Array): string {
  const groups = Array.from({ length: groupCount }, (_, i) => (octets[2 * i] ?? 0) * 256 + (octets[2 * i + 1] ?? 0));
  if (isIpv4Mapped(groups)) return `::ffff:${octets.subarray(12).join('.')}`;
  const run = longestZeroRun(groups);
  const hex = groups.map((group) => group.toString(16));
  if (run.length < 2) return hex.join(':');
  return `${hex.slice(0, run.start).join(':')}::${hex.slice(run.start + run.length).join(':')}`;
}

/** `::ffff:0:0/96`, for which RFC 5952 section 5 recommends the mixed form */
function isIpv4Mapped(groups: readonly number[]): boolean {
  return groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
}

function longestZeroRun(groups: readonly number[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  for (const [index, group] of groups.entries()) {
    if (group !== 0) start = index + 1;
    else if (index + 1 - start > best.length) best = { start, length: index + 1 - start };
  }
  return best;
}

/** `0.0.0.0` and `::`: listened on for every address, never connected to */
export function isUnspecified(address: IpAddress): boolean {
  return address.octets.every((octet) => octet === 0);
}
