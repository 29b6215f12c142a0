// Where a fetch goes: an https URL taken apart and checked once, and the address to dial when it is not the URL's own.
// Must not know trusts, proxies or sockets.
import { LeafgateError } from '../errors.ts';
import { parseServerName, serverNameInAuthority } from './server-name.ts';
import type { ServerName } from './server-name.ts';
import { transportErrors } from './transport-errors.ts';
import { withoutCredentials } from './without-credentials.ts';

/** the longest that Envoy and common servers take in a request line without a setting (8 KiB with headers) */
export const maxUrlChars = 4096;
const defaultHttpsPort = 443;

export type Endpoint = { readonly host: ServerName; readonly port: number };

export type FetchTarget = {
  /** `https://host[:port]`, canonical: equal origins are equal texts */
  readonly origin: string;
  readonly endpoint: Endpoint;
  /** path and query, never a fragment */
  readonly path: string;
  /** dialled instead of `endpoint`; SNI, Host and verification keep the URL's */
  readonly dial?: Endpoint;
};

/** HOST:PORT, IPv6 in brackets */
export function authorityOf({ host, port }: Endpoint): string {
  return `${serverNameInAuthority(host)}:${port}`;
}

/** Throws all that is wrong with both at once, `fetch-url-…` and `fetch-dial-invalid`. */
export function parseFetchTarget(urlText: string, dialText?: string): FetchTarget {
  const url = urlOrProblem(urlText);
  const dial = dialText === undefined ? undefined : dialOrProblem(dialText);
  if (url instanceof LeafgateError) throw LeafgateError.all(dial instanceof LeafgateError ? [url, dial] : [url]);
  if (dial instanceof LeafgateError) throw dial;
  return dial === undefined ? url : { ...url, dial };
}

function urlOrProblem(text: string): FetchTarget | LeafgateError {
  if (text.length > maxUrlChars) {
    return transportErrors.error('fetch-url-too-long', { length: text.length, limit: maxUrlChars });
  }
  if (!URL.canParse(text)) return transportErrors.error('fetch-url-invalid', { url: withoutCredentials(text) });
  const url = new URL(text);
  // the host alone: what stands before it may be a password
  if (url.username !== '' || url.password !== '') {
    return transportErrors.error('fetch-url-credentials', { host: url.host });
  }
  if (url.protocol !== 'https:') return transportErrors.error('fetch-url-not-https', { url: withoutCredentials(text) });
  const host = parseServerName(url.hostname);
  if (host === undefined) return transportErrors.error('fetch-url-host', { host: url.hostname });
  const port = url.port === '' ? defaultHttpsPort : Number(url.port);
  if (port === 0) return transportErrors.error('fetch-url-invalid', { url: withoutCredentials(text) });
  return { origin: originOf(host, port), endpoint: { host, port }, path: `${url.pathname}${url.search}` };
}

/** one text for `https://a`, `https://A:443` and `https://a.` */
function originOf(host: ServerName, port: number): string {
  const name = serverNameInAuthority(host);
  return port === defaultHttpsPort ? `https://${name}` : `https://${name}:${port}`;
}

function dialOrProblem(text: string): Endpoint | LeafgateError {
  const [, hostText = '', portText = ''] = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(text) ?? [];
  const host = parseServerName(hostText);
  const port = Number(portText);
  if (host === undefined || port < 1 || port > 65_535) {
    return transportErrors.error('fetch-dial-invalid', { dial: text });
  }
  return { host, port };
}
