// A server name: what one peer's certificate must carry, a host name or an address. Must not know URLs or sockets.
import type { HostName, IpAddress } from '../names/name-types.ts';
import { parseHostName } from '../names/parse-host-name.ts';
import { parseIpAddress } from '../names/ip-address.ts';

export type ServerName =
  { readonly kind: 'dns'; readonly host: HostName } | { readonly kind: 'ip'; readonly address: IpAddress };

/** Reads a host as a person or a URL writes it, IPv6 with or without brackets; undefined when it is neither. */
export function parseServerName(text: string): ServerName | undefined {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const address = parseIpAddress(bare);
  if (address !== undefined) return { kind: 'ip', address };
  const host = parseHostName(text);
  return host === undefined ? undefined : { kind: 'dns', host };
}

export function serverNameText(name: ServerName): string {
  return name.kind === 'dns' ? name.host : name.address.text;
}

/** The host part of an authority or a URL: IPv6 in brackets. */
export function serverNameInAuthority(name: ServerName): string {
  const text = serverNameText(name);
  return text.includes(':') ? `[${text}]` : text;
}
