// What the SDS server tells whoever watches it; the commands wire it to log and metrics. Names are what a client sent,
// one char a byte: escape them before they are shown, and never make them a metric label. Must not know pino or
// prom-client.
import type { DurationMs } from '../clock.ts';
import type { LeafgateError } from '../errors.ts';
import type { AskedName } from '../names/name-types.ts';
import type { RemovalReason } from './stream-events.ts';

/** ads: all names on one stream; per-name: Envoy's DELTA_GRPC, a stream a name */
export type StreamKind = 'ads' | 'per-name';

/** why a stream ended; the first three are the peer's or nobody's fault */
export type StreamEnd = 'peer-left' | 'peer-done' | 'server-stopped' | 'malformed' | 'too-large' | 'slow-reader';

export type Answer = {
  readonly name: AskedName;
  readonly outcome: 'minted' | 'cached' | 'removed';
  /** why it was removed; undefined for a secret */
  readonly why: RemovalReason | undefined;
  /** serial of the leaf, '' for a removal */
  readonly serialHex: string;
  /** from the ask to the answer */
  readonly waitMs: DurationMs;
};

export type SdsEvents = {
  readonly streamOpened: (kind: StreamKind) => void;
  readonly streamClosed: (kind: StreamKind, end: StreamEnd) => void;
  readonly answered: (answer: Answer) => void;
  /** the peer rejected what it was sent; `detail` is scrubbed and short */
  readonly rejected: (nack: {
    readonly name: AskedName;
    readonly version: string;
    readonly detail: string;
    readonly wasFirst: boolean;
  }) => void;
  /** a stream was ended for what its peer sent, or (`sds-name-unanswerable`) goes on without an answer to it */
  readonly badRequest: (error: LeafgateError) => void;
  readonly connectionOpened: () => void;
  readonly connectionClosed: () => void;
  /** too many connections: one was turned away */
  readonly connectionRefused: () => void;
};

export const silentSdsEvents: SdsEvents = {
  streamOpened: () => undefined,
  streamClosed: () => undefined,
  answered: () => undefined,
  rejected: () => undefined,
  badRequest: () => undefined,
  connectionOpened: () => undefined,
  connectionClosed: () => undefined,
  connectionRefused: () => undefined,
};
