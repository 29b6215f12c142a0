// From what Node, OpenSSL and undici throw to one stable code. Matches on their codes, never on their text, which
// changes between versions. Must not know sockets.
import { FetchFailureError } from './fetch-result.ts';
import type { FetchFailure, FetchFailureCode, PeerRole } from './fetch-result.ts';

type PlainCode = Extract<
  FetchFailureCode,
  'connection-closed' | 'connection-refused' | 'unreachable' | 'dns' | 'timeout' | 'bad-response'
>;

/** who was spoken to; `text` is for the sentence */
export type Peer = { readonly role: PeerRole; readonly text: string };

const codeOf: { readonly [code in string]?: PlainCode } = {
  ECONNREFUSED: 'connection-refused',
  ECONNRESET: 'connection-closed',
  EPIPE: 'connection-closed',
  ECONNABORTED: 'connection-closed',
  UND_ERR_SOCKET: 'connection-closed',
  UND_ERR_DESTROYED: 'connection-closed',
  UND_ERR_CLOSED: 'connection-closed',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  EACCES: 'unreachable',
  EPERM: 'unreachable',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  EAI_FAIL: 'dns',
  EAI_NODATA: 'dns',
  EAI_NONAME: 'dns',
  ETIMEDOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
};

const sentences: { readonly [code in PlainCode]: string } = {
  'connection-closed': 'closed the connection',
  'connection-refused': 'refused the connection',
  unreachable: 'cannot be reached from here',
  dns: 'has no address: its name does not resolve',
  timeout: 'did not answer in time',
  'bad-response': 'did not answer in HTTP/1.1',
};

export function plainFailure(code: PlainCode, peer: Peer, facts = ''): FetchFailure {
  const detail = `${peer.text} ${sentences[code]}${facts === '' ? '' : ` (${facts})`}`;
  return { kind: 'failed', code, peer: peer.role, detail };
}

export function classifyFailure(thrown: unknown, peer: Peer): FetchFailure {
  if (thrown instanceof FetchFailureError) return thrown.failure;
  const code = errorCode(thrown);
  const known = codeOf[code];
  if (known !== undefined) return plainFailure(known, peer, code);
  if (isTlsCode(code)) return handshakeFailure(code, peer);
  return plainFailure('bad-response', peer, code === '' ? 'no reason given' : code);
}

/**
 * Turns what OpenSSL calls an error, `ERR_SSL_TLSV1_UNRECOGNIZED_NAME`, into `unrecognized-name`. Since 3.5 it writes
 * `SSL/TLS` where no version is meant.
 */
export function alertName(code: string): string {
  return code
    .replace(/^ERR_SSL_/, '')
    .replace(/^(?:TLSV1|SSLV3|TLSV13|SSL\/TLS)_/, '')
    .replace(/^ALERT_/, '')
    .toLowerCase()
    .replaceAll('_', '-');
}

function handshakeFailure(code: string, peer: Peer): FetchFailure {
  const alert = alertName(code);
  return {
    kind: 'failed',
    code: 'tls-handshake',
    alert,
    detail: `the TLS handshake with ${peer.text} failed: ${alert}`,
  };
}

function isTlsCode(code: string): boolean {
  return code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code === 'EPROTO';
}

/** The code of what was thrown; for several attempts (Happy Eyeballs) the first one's. */
function errorCode(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return '';
  if ('code' in thrown && typeof thrown.code === 'string') return thrown.code;
  if (thrown instanceof AggregateError) return errorCode(thrown.errors[0]);
  if (thrown instanceof Error && thrown.cause !== undefined) return errorCode(thrown.cause);
  return '';
}
