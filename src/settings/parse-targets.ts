// Flag values that name hosts and networks: overrides of name resolution, ranges, patterns. Each throws
// `setting-malformed`, which names the flag, the value and an example.
import { parseCidr } from '../names/cidr.ts';
import { parseHostPattern } from '../names/host-pattern.ts';
import { parseIpAddress } from '../names/ip-address.ts';
import type { Cidr, HostPattern } from '../names/name-types.ts';
import { parseHostName } from '../names/parse-host-name.ts';
import type { ResolveOverride } from './gateway-spec.ts';
import { meantRange } from './policy-targets.ts';
import { settingsErrors } from './settings-errors.ts';

const overridePattern = /^([^:]+):(\d{1,5}):(?:\[([^\]]+)\]|(.+))$/;
const maxPort = 65_535;

/** `HOST:PORT:ADDRESS`, an IPv6 address with or without brackets; `*` is any host that is a name */
export function parseResolveOverride(text: string, setting = '--resolve'): ResolveOverride {
  const [, hostText = '', portText = '', inBrackets, bare = ''] = overridePattern.exec(text) ?? [];
  const host = hostText === '*' ? '*' : parseHostName(hostText);
  const port = Number(portText);
  const address = parseIpAddress(inBrackets ?? bare);
  if (host === undefined || address === undefined || port < 1 || port > maxPort) {
    const expected = 'a host name or *, a port and one IP address';
    throw malformed(setting, text, { expected, example: 'api.example.com:443:192.0.2.1' });
  }
  return { host, port, address };
}

/** `10.0.0.0/8`, `fd00::/8`, or one address */
export function parseCidrSetting(text: string, setting: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr !== undefined) return cidr;
  throw malformed(setting, text, { expected: 'a range of addresses', example: meantRange(text) ?? '10.0.0.0/8' });
}

/** `example.com`, `*.example.com` or one address; `*` alone is no pattern */
export function parseHostPatternSetting(text: string, setting = '--allow'): HostPattern {
  const pattern = parseHostPattern(text);
  if (pattern !== undefined) return pattern;
  const forAll = text === '*' ? ', or give --allow-any for every name' : '';
  const example = `example.com or *.example.com${forAll}`;
  throw malformed(setting, text, { expected: 'a host name or a pattern', example });
}

function malformed(
  setting: string,
  value: string,
  hint: { readonly expected: string; readonly example: string },
): Error {
  return settingsErrors.error('setting-malformed', { setting, value, ...hint });
}
