// How a fetch went: answered over a verified connection, or failed with a stable code. The codes are part of the
// product's interface (probe JSON, verdicts): add to them, never rename one. Must not know sockets or libraries.
import type { OriginCause } from '../settings/origin-causes.ts';
import type { TlsSession } from './tls-session.ts';

/** What a leafgate gateway says when it answers itself instead of the server: its rule, and its error word. */
export type GatewayRefusal = {
  /** the rule that decided, as `<verdict>:<name>` */
  readonly rule?: string;
  /** one of settings/gateway-answers.ts, such as `blocked_by_policy` or `origin_failed` */
  readonly error?: string;
  /** why the origin did not answer, with `origin_failed` */
  readonly cause?: OriginCause;
};

export type PeerRole = 'proxy' | 'server';

export type Answered = {
  readonly kind: 'answered';
  readonly status: number;
  readonly tls: TlsSession;
  /** set when the gateway, not the server, gave this answer */
  readonly gateway?: GatewayRefusal;
};

type Failure<Code extends string, Facts extends object = object> = {
  readonly kind: 'failed';
  readonly code: Code;
  /** one line for people; never match on it */
  readonly detail: string;
} & Facts;

export type CertificateFailure = Failure<
  'certificate',
  {
    /** OpenSSL's or Node's name, such as UNABLE_TO_GET_ISSUER_CERT_LOCALLY or ERR_TLS_CERT_ALTNAME_INVALID */
    readonly openssl: string;
    /** what the peer showed, when it could be read */
    readonly presented?: TlsSession['leaf'];
  }
>;

export type ProxyRefusal = Failure<'refused-by-proxy', { readonly status: number } & GatewayRefusal>;

/** the server answered, verified, but sent us elsewhere: nothing went there */
type RedirectRefusal = Failure<'redirect-refused', { readonly status: number; readonly tls: TlsSession }>;

export type FetchFailure =
  | CertificateFailure
  | ProxyRefusal
  | RedirectRefusal
  /** `alert`: what the peer said, or why OpenSSL gave up, such as `unrecognized-name` or `wrong-version-number` */
  | Failure<'tls-handshake', { readonly alert: string }>
  | Failure<
      'connection-closed' | 'connection-refused' | 'unreachable' | 'dns' | 'timeout' | 'bad-response',
      {
        /** who did not do their part: the proxy, or the server at its end of the tunnel */
        readonly peer: PeerRole;
      }
    >;

export type FetchFailureCode = FetchFailure['code'];

export type FetchResult = Answered | FetchFailure;

/** Carries a failure through code that knows only thrown errors; it never leaves this room. */
export class FetchFailureError extends Error {
  override readonly name = 'FetchFailureError';
  readonly failure: FetchFailure;

  constructor(failure: FetchFailure, cause?: unknown) {
    super(failure.detail, cause === undefined ? undefined : { cause });
    this.failure = failure;
  }
}
