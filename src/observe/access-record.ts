// One thing that a client did through the gateway, as people and machines read it. The JSON of `--json` is this value.
// Everything a client chose in it is escaped and capped; no query string, header or body is ever part of it.
import type { Verdict } from '../policy/policy-types.ts';
import type { OriginCause } from '../settings/origin-causes.ts';
import type { ClientTlsVerdict, ReasonCode, RecordOutcome } from './reason-table.ts';

/**
 * request: one HTTP request · connect: a CONNECT that was not accepted · handshake: a TLS connection that brought no
 * request · tunnel: bytes forwarded unread, or a tunnel that came to nothing
 */
export type RecordKind = 'request' | 'connect' | 'handshake' | 'tunnel';

export type OriginCertificateFate = 'verified' | Extract<OriginCause, 'expired' | 'not_trusted' | 'wrong_name'>;

/** docs/records.md says what each field means (record-fields.ts) */
export type AccessRecord = {
  readonly kind: RecordKind;
  readonly time: string;
  readonly id: string;
  readonly client: string;
  readonly actor?: string;
  readonly connect?: string;
  readonly sni?: string;
  readonly host: string;
  readonly port?: number;
  readonly decision: Verdict;
  readonly rule: string;
  readonly outcome: RecordOutcome;
  readonly clientTls?: ClientTlsVerdict;
  readonly leaf?: 'minted' | 'cached';
  readonly leafSerial?: string;
  readonly tls?: string;
  readonly proxyTls?: string;
  readonly method?: string;
  readonly path?: string;
  readonly protocol?: string;
  readonly upstreamProtocol?: string;
  readonly status?: number;
  readonly grpcStatus?: number;
  readonly handshakeMs?: number;
  readonly firstByteMs?: number;
  readonly durationMs: number;
  readonly bytesReceived: number;
  readonly bytesSent: number;
  readonly upstream?: string;
  readonly upstreamTls?: string;
  readonly originCertificate?: OriginCertificateFate;
  readonly cause?: OriginCause;
  readonly upstreamFailure?: string;
  readonly reason?: RecordReason;
};

export type RecordReason = {
  readonly code: ReasonCode;
  /** what happened, for people */
  readonly words: string;
  /** what to do */
  readonly remedy: string;
};

/** a reason as it is found: what to do stands in the table unless more is known */
export type FoundReason = Omit<RecordReason, 'remedy'> & Partial<Pick<RecordReason, 'remedy'>>;
