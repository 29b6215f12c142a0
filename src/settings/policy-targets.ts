// What rules and origins of a policy file name: hosts, suffixes and ranges. Says what was probably meant where a text is
// something else, a URL or a host with its port. Pure.
import { domainToASCII } from 'node:url';
import { cidrAround, cidrText, parseCidr } from '../names/cidr.ts';
import { parseHostPattern } from '../names/host-pattern.ts';
import { parseIpAddress } from '../names/ip-address.ts';
import type { HostPattern } from '../names/name-types.ts';
import type { RuleTarget } from '../policy/policy-types.ts';
import { noSniHost, selfCheckHost } from './gateway-spec.ts';

/** `example.com`, `*.example.com`, `192.0.2.1` or `192.0.2.0/24`; undefined for anything else. */
export function parseRuleTarget(text: string): RuleTarget | undefined {
  if (text.includes('/')) {
    const cidr = parseCidr(text);
    return cidr === undefined ? undefined : { kind: 'cidr', cidr };
  }
  const pattern = parseHostPattern(text);
  return pattern === undefined ? undefined : { kind: 'host', pattern };
}

/** TLS to an address has no server name, so that it is never intercepted and no certificate could be shown. */
export function parseOriginHost(text: string): HostPattern | undefined {
  const target = parseRuleTarget(text);
  return target?.kind === 'host' && target.pattern.kind !== 'address' ? target.pattern : undefined;
}

/** The gateway's own names: no rule can change what becomes of them. */
export function isReservedHost(pattern: HostPattern): boolean {
  return pattern.kind === 'exact' && (pattern.host === selfCheckHost || pattern.host === noSniHost);
}

/** How a text that is no target should have been written. */
export function meantTarget(text: string): string {
  return (
    guesses.map((guess) => guess(text)).find((meant) => meant !== undefined) ?? 'api.example.com or "*.example.com"'
  );
}

const guesses: readonly ((text: string) => string | undefined)[] = [
  (text) => (text === '*' ? '`default: …` for all that no rule names' : undefined),
  (text) => (text.startsWith('*') && !text.startsWith('*.') ? quoted(`*.${text.slice(1)}`) : undefined),
  meantRange,
  (text) =>
    hostAlone(/^[a-z][a-z0-9+.-]*:\/\/(?:[^/@]*@)?([^/:?#]+|\[[^\]]*\])(?::\d+)?(?:[/?#].*)?$/i.exec(text)?.[1]),
  (text) => hostAlone(/^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1]),
  (text) => withPort(/^([^:/]+):(\d{1,5})$/.exec(text)),
  asciiForm,
];

/** the range that was meant when only the bits after the prefix are wrong: `10.1.2.3/8` meant `10.0.0.0/8` */
export function meantRange(text: string): string | undefined {
  const [addressText = '', prefixText = ''] = text.split('/');
  const address = parseIpAddress(addressText);
  const prefixLength = /^\d{1,3}$/.test(prefixText) ? Number(prefixText) : NaN;
  if (address === undefined || !(prefixLength <= address.octets.length * 8)) return undefined;
  return cidrText(cidrAround(address, prefixLength));
}

function hostAlone(host: string | undefined): string | undefined {
  const bare = host?.replace(/^\[|\]$/g, '');
  return bare !== undefined && parseRuleTarget(bare) !== undefined ? quoted(bare) : undefined;
}

function withPort(parts: RegExpExecArray | null): string | undefined {
  const [, host = '', port = ''] = parts ?? [];
  return parseRuleTarget(host) === undefined ? undefined : `${quoted(host)} with \`ports: [${port}]\``;
}

/** names are compared as they stand in DNS and TLS (RFC 5890 A-labels) */
function asciiForm(text: string): string | undefined {
  if (text.includes('/')) return undefined;
  const isSuffix = text.startsWith('*.');
  const ascii = domainToASCII(isSuffix ? text.slice(2) : text);
  const meant = isSuffix ? `*.${ascii}` : ascii;
  const isOther = ascii !== '' && meant !== text.toLowerCase();
  return isOther && parseRuleTarget(meant) !== undefined ? quoted(meant) : undefined;
}

function quoted(text: string): string {
  return text.startsWith('*') || text.includes(':') ? `"${text}"` : text;
}
