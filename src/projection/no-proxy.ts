// What stays off the proxy: loopback and whatever its owner keeps off it, as a list for NO_PROXY and in Java's syntax. Pure.
import { isIPv4, isIPv6 } from 'node:net';

export type InheritedEnvironment = { readonly [name: string]: string | undefined };

/** written as is in `NO_PROXY`, this entry keeps everything off the proxy (curl, Python, Go) */
const everyHost = '*';

/** whether the owner's own variables let everything go around the gateway */
export function sendsAllAround(own: InheritedEnvironment): boolean {
  return ownEntries(own).includes(everyHost);
}

const loopback = ['localhost', '127.0.0.1', '::1'];

/** Clients read one of the two spellings or the other, so that each gets the entries of both. */
export function unproxiedHosts(own: InheritedEnvironment): readonly string[] {
  return [...new Set([...ownEntries(own), ...loopback])];
}

function ownEntries(own: InheritedEnvironment): readonly string[] {
  const given = [own['no_proxy'], own['NO_PROXY']].flatMap((list) => (list ?? '').split(','));
  return given.map((entry) => entry.trim()).filter((entry) => entry !== '');
}

export type JavaHosts = { readonly patterns: readonly string[]; readonly unsaid: readonly string[] };

/**
 * `http.nonProxyHosts` has names and addresses with a * at their start or end, no ranges and no ports (Java's page of
 * networking properties). An entry that it cannot say exactly is left out: more would go around the gateway.
 */
export function javaUnproxiedHosts(entries: readonly string[]): JavaHosts {
  const said = entries.map((entry) => ({ entry, patterns: javaPatterns(entry) }));
  return {
    patterns: [...new Set(said.flatMap(({ patterns }) => patterns))],
    unsaid: said.flatMap(({ entry, patterns }) => (patterns.length === 0 ? [entry] : [])),
  };
}

function javaPatterns(entry: string): readonly string[] {
  if (entry === '127.0.0.1') return ['127.*'];
  if (entry === everyHost || isIPv4(entry)) return [entry];
  if (isIPv6(entry)) return [`[${entry}]`];
  if (entry.includes('/')) return rangePatterns(entry);
  if (!/^(?:\*?\.)?[\w-]+(?:\.[\w-]+)*$/.test(entry)) return [];
  if (entry.startsWith('*')) return [entry];
  if (entry.startsWith('.')) return [`*${entry}`];
  // clients take a name for all below it too
  return entry === 'localhost' ? [entry] : [entry, `*.${entry}`];
}

/** `10.0.0.0/8` is `10.*`; only whole octets can be said */
function rangePatterns(range: string): readonly string[] {
  const [address = '', bits = '', ...more] = range.split('/');
  if (!isIPv4(address) || more.length > 0) return [];
  const octets = address.split('.');
  switch (bits) {
    case '8':
    case '16':
    case '24':
      return [`${octets.slice(0, Number(bits) / 8).join('.')}.*`];
    case '32':
      return [address];
    default:
      return [];
  }
}
