// From what OpenSSL and Node say of a handshake to the reasons that this product tells apart. Codes only, never texts: what is
// not listed is `handshake-failed`, or `wrong-ca` where it is the chain that was not verified. Pure.
import type { RefusalReason } from './channel-events.ts';

/** of `authorizationError`: names of X509_V_ERR_… */
const ofVerification: Readonly<Record<string, RefusalReason>> = {
  CERT_HAS_EXPIRED: 'expired',
  CERT_NOT_YET_VALID: 'not-yet-valid',
  INVALID_PURPOSE: 'not-for-clients',
};

/** of errors in a handshake: `ERR_SSL_` and the reason of OpenSSL's SSL library, and Node's own */
const ofHandshake: Readonly<Record<string, RefusalReason>> = {
  ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE: 'no-certificate',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'tls-too-old',
  ERR_SSL_VERSION_TOO_LOW: 'tls-too-old',
  ERR_SSL_HTTP_REQUEST: 'not-tls',
  ERR_SSL_HTTPS_PROXY_REQUEST: 'not-tls',
  ERR_SSL_WRONG_VERSION_NUMBER: 'not-tls',
  ERR_SSL_UNEXPECTED_MESSAGE: 'not-tls',
  ERR_SSL_BAD_RECORD_TYPE: 'not-tls',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'not-tls',
  ERR_SSL_NO_APPLICATION_PROTOCOL: 'not-http2',
  ERR_TLS_HANDSHAKE_TIMEOUT: 'handshake-timeout',
  ECONNRESET: 'left',
  EPIPE: 'left',
};

/** Why the chain of a certificate was not verified. */
export function refusalOfChain(code: string): RefusalReason {
  return Object.hasOwn(ofVerification, code) ? (ofVerification[code] ?? 'wrong-ca') : 'wrong-ca';
}

/** Why a handshake did not end. */
export function refusalOfHandshake(thrown: unknown): { readonly reason: RefusalReason; readonly code: string } {
  const code = thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : 'unknown';
  return {
    reason: Object.hasOwn(ofHandshake, code) ? (ofHandshake[code] ?? 'handshake-failed') : 'handshake-failed',
    code,
  };
}
