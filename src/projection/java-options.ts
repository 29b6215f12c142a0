// JAVA_TOOL_OPTIONS with the gateway in it: what its owner has there stays, but for the way to a proxy. Every JVM splits the
// variable at white space and takes quotes of either kind away (JDK source, arguments.cpp; tried with 17 and 25). Pure.
import { basename } from 'node:path';
import { javaUnproxiedHosts } from './no-proxy.ts';

export type JavaWish = {
  /** JAVA_TOOL_OPTIONS of the owner */
  readonly own: string;
  /** undefined where connections need no proxy */
  readonly proxyUrl: string | undefined;
  /** path of a PKCS#12 file that opens without a password */
  readonly trustStore: string | undefined;
  /** entries of NO_PROXY */
  readonly unproxied: readonly string[];
};

export type JavaOptions = { readonly text: string; readonly warnings: readonly string[] };

const variable = 'JAVA_TOOL_OPTIONS';
const trustStoreKey = 'javax.net.ssl.trustStore';
const unproxiedKey = 'http.nonProxyHosts';

export function javaOptions(wish: JavaWish): JavaOptions {
  const options = splitOptions(wish.own);
  if (options === undefined) {
    return { text: wish.own, warnings: [`${variable} has a quote that does not end, and is left as it is`] };
  }
  const proxy = proxyProperties(wish, options);
  const trust = trustProperties(wish, options);
  const ours = new Map([...proxy.properties, ...trust.properties]);
  const replaced = options.flatMap(({ property, text }) => {
    const value = property === undefined ? undefined : ours.get(property.key);
    return value === undefined || property?.value === value || isNoLoss(property?.key) ? [] : [text];
  });
  const kept = options.filter(({ property }) => property === undefined || !ours.has(property.key));
  return {
    text: [...kept.map(({ raw }) => raw), ...[...ours].map(([key, value]) => quoted(`-D${key}=${value}`))].join(' '),
    warnings: [
      ...replaced.map((text) => `the gateway takes the place of ${text} in ${variable}`),
      ...proxy.warnings,
      ...trust.warnings,
    ],
  };
}

/** what of it matters is in ours too */
function isNoLoss(key = ''): boolean {
  return key === unproxiedKey || key.startsWith(trustStoreKey);
}

type Properties = {
  readonly properties: readonly (readonly [string, string])[];
  readonly warnings: readonly string[];
};

const nothing: Properties = { properties: [], warnings: [] };

function proxyProperties({ proxyUrl, unproxied }: JavaWish, options: readonly JavaOption[]): Properties {
  if (proxyUrl === undefined) return nothing;
  const { protocol, hostname, port } = new URL(proxyUrl);
  if (protocol !== 'http:') {
    return { ...nothing, warnings: [`Java speaks no TLS to a proxy, so that ${variable} names none`] };
  }
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const { patterns, unsaid } = javaUnproxiedHosts(unproxied);
  const own = (valueOf(options, unproxiedKey) ?? '').split('|').filter((pattern) => pattern !== '');
  return {
    properties: [
      ...['https', 'http'].flatMap((scheme) => [
        [`${scheme}.proxyHost`, host] as const,
        [`${scheme}.proxyPort`, port === '' ? '80' : port] as const,
      ]),
      [unproxiedKey, [...new Set([...own, ...patterns])].join('|')],
    ],
    warnings: unsaid.map((entry) => `Java has no form for ${entry} in NO_PROXY, and sends it through the gateway`),
  };
}

function trustProperties({ trustStore }: JavaWish, options: readonly JavaOption[]): Properties {
  if (trustStore === undefined) return nothing;
  const own = valueOf(options, trustStoreKey);
  // one of that name was set by leafgate, for another gateway
  if (own !== undefined && basename(own) !== basename(trustStore)) {
    const warning = `${variable} has a trust store of its own (${own}), which stays: import the gateway's CA there with keytool`;
    return { ...nothing, warnings: [warning] };
  }
  return {
    properties: [
      [trustStoreKey, trustStore],
      [`${trustStoreKey}Type`, 'PKCS12'],
    ],
    warnings: [],
  };
}

type JavaOption = {
  /** as it stands in the variable */
  readonly raw: string;
  /** without its quotes */
  readonly text: string;
  /** of `-Dkey=value` */
  readonly property: { readonly key: string; readonly value: string } | undefined;
};

/** the last one counts */
function valueOf(options: readonly JavaOption[], key: string): string | undefined {
  return options.findLast(({ property }) => property?.key === key)?.property?.value;
}

const part = /[^\s"']|"[^"]*"|'[^']*'/;
const word = new RegExp(`(?:${part.source})+`, 'g');

/** undefined where a quote does not end */
function splitOptions(text: string): readonly JavaOption[] | undefined {
  if (/\S/.test(text.replace(word, ''))) return undefined;
  return [...text.matchAll(word)].map(([raw]) => {
    const bare = raw.replace(/"([^"]*)"|'([^']*)'/g, '$1$2');
    const [, key, value] = /^-D([^=]+)=([\s\S]*)$/.exec(bare) ?? [];
    return { raw, text: bare, property: key === undefined || value === undefined ? undefined : { key, value } };
  });
}

/** A piece with one kind of quote stands between two of the other; pieces that touch are one word. */
function quoted(text: string): string {
  if (/^[^\s"']*$/.test(text)) return text;
  return (text.match(/[^"]+|"+/g) ?? []).map((piece) => (piece.startsWith('"') ? `'${piece}'` : `"${piece}"`)).join('');
}
