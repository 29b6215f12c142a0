// One thing that a client did through the gateway, as people and machines read it. The JSON of `--json` is this value.
// Everything a client chose in it is capped; no query string, header or body is ever part of it.
import type { Verdict } from '../policy/policy-types.ts';
import type { OriginCause } from '../settings/origin-causes.ts';

/**
 * request: one HTTP request · connect: a CONNECT that was not accepted · handshake: a TLS connection that brought no
 * request · tunnel: bytes forwarded unread, or a tunnel that came to nothing
 */
export type RecordKind = 'request' | 'connect' | 'handshake' | 'tunnel';

/** refused: by a rule or guard of this gateway · failed: the origin, the client or the network */
export type RecordOutcome = 'ok' | 'refused' | 'failed';

export type AccessRecord = {
  readonly kind: RecordKind;
  /** when it began, RFC 3339 in UTC */
  readonly time: string;
  /** the same for all records of one CONNECT */
  readonly id: string;
  /** address:port of the client */
  readonly client: string;
  /** the verified URI of the client's certificate; absent where it showed none */
  readonly actor?: string;
  readonly host: string;
  readonly port?: number;
  /** what happened to it: `deny` also where a rule would have let it through and a guard did not */
  readonly decision: Verdict;
  /** the rule that decided; `default` when none did */
  readonly rule: string;
  readonly outcome: RecordOutcome;
  /** minted: this connection was the first to show the leaf; absent where no leaf was shown */
  readonly leaf?: 'minted' | 'cached';
  readonly leafSerial?: string;
  readonly method?: string;
  readonly path?: string;
  readonly protocol?: string;
  readonly upstreamProtocol?: string;
  readonly tls?: string;
  readonly status?: number;
  readonly durationMs: number;
  readonly bytesReceived: number;
  readonly bytesSent: number;
  /** address:port of the origin */
  readonly upstream?: string;
  /** why the origin did not answer, in the word that the client was told */
  readonly cause?: OriginCause;
  /** the same in Envoy's words, which no client sees */
  readonly upstreamFailure?: string;
  readonly reason?: RecordReason;
};

export type RecordReason = {
  readonly code: ReasonCode;
  /** one sentence for people, with what to do where something can be done */
  readonly words: string;
};

export type ReasonCode =
  | 'policy'
  | 'name-mismatch'
  | 'destination-denied'
  | 'opaque-closed'
  | 'no-leaf'
  | 'leaf-timeout'
  | 'client-distrusts'
  | 'client-handshake'
  | 'client-no-request'
  | 'no-server-name'
  | 'client-left'
  | 'client-request'
  | 'origin-distrusted'
  | 'origin-handshake'
  | 'origin-not-resolved'
  | 'origin-unreachable'
  | 'origin-timeout'
  | 'origin-reset'
  | 'gateway-stopped'
  | 'overload'
  | 'other';
