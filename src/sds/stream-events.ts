// What goes into a stream's protocol machine and what comes out of it. Must not know gRPC, clocks or minters.
import type { EpochMs } from '../clock.ts';
import type {
  HeldVerdict,
  Leaf,
  MintOutcome,
  RefusalReason,
  SdsVersion,
  UnavailableReason,
} from '../mint/mint-types.ts';
import type { AskedName } from '../names/name-types.ts';
import type { DeltaRequest } from './delta-request.ts';

export type StreamEvent =
  | { readonly kind: 'request'; readonly request: DeltaRequest }
  /** the next part of a request that was too large to be taken at once */
  | { readonly kind: 'more' }
  /** the answer to a `mint` action, "deadline" when there was none in time; one with an old ticket is ignored */
  | { readonly kind: 'minted'; readonly name: AskedName; readonly ticket: number; readonly outcome: MintOutcome }
  /** pool or policy changed, or the name is held past its TTL: judge it anew */
  | { readonly kind: 'review'; readonly name: AskedName }
  /** too many live names: this one has been held the longest */
  | { readonly kind: 'evict'; readonly name: AskedName };

export type StreamAction =
  | MintAction
  | SendSecret
  | SendRemoval
  | { readonly kind: 'send-empty'; readonly typeUrl: string; readonly nonce: string }
  /** the peer holds a good leaf from before this stream; nothing is sent */
  | { readonly kind: 'kept'; readonly name: AskedName; readonly notAfter: EpochMs }
  /** the peer gave the name up; nothing is sent */
  | { readonly kind: 'released'; readonly name: AskedName }
  /** no answer can carry this name: the peer would reset the stream */
  | { readonly kind: 'unanswerable'; readonly name: AskedName }
  /** a held name could not be refreshed now: review it again later */
  | { readonly kind: 'review-later'; readonly name: AskedName }
  | Rejected;

export type MintAction = {
  readonly kind: 'mint';
  readonly name: AskedName;
  readonly ticket: number;
  /** `ask`: somebody waits, the deadline runs; `refresh`: the peer serves what it holds meanwhile */
  readonly urgency: 'ask' | 'refresh';
};

export type SendRemoval = {
  readonly kind: 'send-removal';
  readonly name: AskedName;
  readonly nonce: string;
  readonly why: RemovalReason;
};

export type SendSecret = {
  readonly kind: 'send-secret';
  readonly name: AskedName;
  readonly nonce: string;
  readonly leaf: Leaf;
  readonly fresh: boolean;
};

/** The peer rejected a secret. `message` is its raw text: scrub it before it is shown. */
export type Rejected = {
  readonly kind: 'rejected';
  readonly name: AskedName;
  readonly version: SdsVersion;
  readonly message: string;
  /** the peer holds nothing else under this name, so that handshakes wait for it */
  readonly wasFirst: boolean;
};

/** `evicted`: too many live names, this one was held the longest; `rejected`: by the peer */
export type RemovalReason = RefusalReason | UnavailableReason | 'evicted' | 'rejected';

/** Judges a version that the peer holds; the minter's `judgeHeld`. */
export type JudgeHeld = (name: AskedName, version: string) => HeldVerdict;
