// Addresses to listen on: `ADDRESS:PORT` with brackets around IPv6, or `unix:PATH`. Names are not accepted, since what
// they resolve to may change who can connect.
import { isAbsolute } from 'node:path';
import { isIpv6, parseIpAddress } from '../names/ip-address.ts';
import type { Cidr, IpAddress } from '../names/name-types.ts';
import { maxSocketPathBytes } from '../socket-path.ts';
import type { ListenAddress } from './gateway-spec.ts';
import { settingsErrors } from './settings-errors.ts';

export type ListenTarget =
  ({ readonly kind: 'tcp' } & ListenAddress) | { readonly kind: 'unix'; readonly path: string };

const listenPattern = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/;
const unixPrefix = 'unix:';

/** Port 0 asks the system for a free one. Throws `setting-malformed`. */
export function parseListenAddress(text: string, setting = '--listen'): ListenAddress {
  const listen = readListenAddress(text);
  if (listen !== undefined) return listen;
  throw settingsErrors.error('setting-malformed', {
    ...{ setting, value: text, expected: 'an IP address and a port', example: '127.0.0.1:3128 or [::1]:3128' },
  });
}

function readListenAddress(text: string): ListenAddress | undefined {
  const [, inBrackets, bare, portText] = listenPattern.exec(text) ?? [];
  const address = parseIpAddress(inBrackets ?? bare ?? '');
  const port = Number(portText);
  const isIpv6Written = inBrackets !== undefined;
  if (address === undefined || !(port <= 65_535) || (address.octets.length === 16) !== isIpv6Written) {
    return undefined;
  }
  return { address, port };
}

const dnsPort = 53;

/** `192.0.2.53`, `2001:db8::53`, or either with a port as `parseListenAddress` has it. Throws `setting-malformed`. */
export function parseDnsServer(text: string, setting = '--dns'): ListenAddress {
  const bare = parseIpAddress(text);
  if (bare !== undefined) return { address: bare, port: dnsPort };
  const [, inBrackets, plain, portText] = listenPattern.exec(text) ?? [];
  const address = parseIpAddress(inBrackets ?? plain ?? '');
  const port = Number(portText);
  if (address === undefined || !(port >= 1 && port <= 65_535) || isIpv6(address) !== (inBrackets !== undefined)) {
    const example = '192.0.2.53 or [2001:db8::53]:5353';
    throw settingsErrors.error('setting-malformed', {
      setting,
      value: text,
      expected: 'a DNS server by address',
      example,
    });
  }
  return { address, port };
}

/** `unix:/absolute/path` or `ADDRESS:PORT`. Throws `setting-malformed`. */
export function parseListenTarget(text: string, setting = '--listen'): ListenTarget {
  if (!text.startsWith(unixPrefix)) {
    const listen = readListenAddress(text);
    if (listen !== undefined) return { kind: 'tcp', ...listen };
    const expected = 'a unix socket, or an IP address and a port';
    const example = 'unix:/run/leafgate/name.sock or 127.0.0.1:9090';
    throw settingsErrors.error('setting-malformed', { setting, value: text, expected, example });
  }
  const path = text.slice(unixPrefix.length);
  if (!isAbsolute(path) || path.includes('\0') || Buffer.byteLength(path) > maxSocketPathBytes) {
    throw settingsErrors.error('setting-malformed', {
      setting,
      value: text,
      expected: `an absolute socket path of at most ${maxSocketPathBytes} bytes`,
      example: 'unix:/run/leafgate/sds.sock',
    });
  }
  return { kind: 'unix', path };
}

/** `127.0.0.1:3128`, `[::1]:3128` */
export function listenAddressText({ address, port }: ListenAddress): string {
  return address.octets.length === 16 ? `[${address.text}]:${port}` : `${address.text}:${port}`;
}

/** Nobody but this machine may connect unless someone said who. Throws `listen-unguarded`. */
export function checkListenGuarded(listen: ListenAddress, allowFrom: readonly Cidr[], setting = '--listen'): void {
  if (allowFrom.length > 0 || isLoopback(listen.address)) return;
  throw settingsErrors.error('listen-unguarded', { setting, value: listenAddressText(listen) });
}

/** 127.0.0.0/8 and ::1 (RFC 6890) */
export function isLoopback(address: IpAddress): boolean {
  return address.octets.length === 4 ? address.octets[0] === 127 : address.text === '::1';
}
