// From the bytes of a resource name, as Envoy sent them, to a host name, an address or a refusal with its reason.
// The asked name keeps every byte, so that the answer can echo it: Envoy compares resource names byte for byte.
import { parseIpAddress } from './ip-address.ts';
import type { AskedName, ParsedName } from './name-types.ts';
import { judgeHostName, maxNameBytes } from './parse-host-name.ts';

/** two colons and nothing but what IPv6 text is made of: meant as an address, not as `host:port` */
const looksLikeIpv6 = /^(?=.*:.*:)[0-9a-f:.]+$/i;

export function askedNameFromBytes(bytes: Uint8Array): AskedName {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1') as AskedName;
}

/** The asked name that a sender of this text would send: its UTF-8 bytes. */
export function askedNameFromText(text: string): AskedName {
  return askedNameFromBytes(Buffer.from(text, 'utf8'));
}

export function askedNameToBytes(asked: AskedName): Uint8Array {
  return Buffer.from(asked, 'latin1');
}

/** Never throws, and looks at no more than 253 bytes of whatever was asked. */
export function parseAskedName(asked: AskedName): ParsedName {
  if (asked.length > maxNameBytes) return { kind: 'refused', reason: 'too-long' };
  const address = parseIpAddress(asked);
  if (address !== undefined) return { kind: 'ip', address };
  if (looksLikeIpv6.test(asked)) return { kind: 'refused', reason: 'not-an-address' };
  const verdict = judgeHostName(asked);
  return verdict.kind === 'host' ? { kind: 'dns', host: verdict.host } : verdict;
}
