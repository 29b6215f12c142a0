// A proxy that tunnels by CONNECT over plain HTTP. One reached over TLS is refused: it would be verified with the roots
// that were given for the server behind it (coder/coder-k8s#275), so a bundle would vouch for a peer it never meant.
import { SecretBytes } from '../secret-bytes.ts';
import { transportErrors } from './transport-errors.ts';
import { withoutCredentials } from './without-credentials.ts';
import { parseServerName, serverNameInAuthority, serverNameText } from './server-name.ts';

export type HttpProxy = {
  /** as net.connect takes it */
  readonly host: string;
  readonly port: number;
  /** HOST:PORT, without credentials: fit for messages */
  readonly authority: string;
  /** the value of Proxy-Authorization */
  readonly authorization?: SecretBytes;
};

const defaultHttpPort = 80;

/** Throws `proxy-over-tls` for https:// and `proxy-not-a-url` for anything else that is not http://HOST[:PORT]. */
export function parseHttpProxy(text: string): HttpProxy {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:') throw transportErrors.error('proxy-over-tls', { proxy: url.host });
  const host = url?.protocol === 'http:' ? parseServerName(url.hostname) : undefined;
  if (url === undefined || host === undefined || !isBare(url)) {
    throw transportErrors.error('proxy-not-a-url', { proxy: withoutCredentials(text) });
  }
  const port = url.port === '' ? defaultHttpPort : Number(url.port);
  const authorization = authorizationOf(url);
  return {
    host: serverNameText(host),
    port,
    authority: `${serverNameInAuthority(host)}:${port}`,
    ...(authorization === undefined ? {} : { authorization }),
  };
}

function isBare(url: URL): boolean {
  return url.pathname === '/' && url.search === '' && url.hash === '';
}

function authorizationOf(url: URL): SecretBytes | undefined {
  if (url.username === '' && url.password === '') return undefined;
  const pair = `${decoded(url.username)}:${decoded(url.password)}`;
  return new SecretBytes(Buffer.from(`Basic ${Buffer.from(pair).toString('base64')}`));
}

/** as typed when it is not percent-encoded text: a stray `%` is no reason to fail */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
