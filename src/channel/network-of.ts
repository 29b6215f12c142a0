// Which addresses count as one peer before it has shown who it is: an IPv6 host has a network of 64 bits to itself
// (RFC 4291 2.5.1). Pure.
import { ipAddressFromOctets, parseIpAddress } from '../names/ip-address.ts';

const networkOctets = 8;

export function networkOf(address: string): string {
  const parsed = parseIpAddress(address);
  if (parsed?.octets.length !== 16) return address;
  const network = new Uint8Array(16);
  network.set(parsed.octets.subarray(0, networkOctets));
  return ipAddressFromOctets(network)?.text ?? address;
}
