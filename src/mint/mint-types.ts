// The minter's answers, as the SDS server takes them. A refusal is final for this policy and pool; "unavailable" is
// for now only and is never remembered.
import type { DurationMs, EpochMs } from '../clock.ts';
import type { AskedName, NameRefusal } from '../names/name-types.ts';
import type { SecretBytes } from '../secret-bytes.ts';

declare const sdsVersion: unique symbol;

/** `<first 8 hex of the CA's key id>.<notAfter, epoch seconds>.<serial hex>` (design section 4) */
export type SdsVersion = string & { readonly [sdsVersion]: true };

export type Leaf = {
  readonly version: SdsVersion;
  readonly serialHex: string;
  readonly notBefore: EpochMs;
  readonly notAfter: EpochMs;
  /** leaf first, then the signer's chain, never the root; ASCII PEM bytes */
  readonly chainPem: Uint8Array;
  readonly privateKeyPem: SecretBytes;
};

export type RefusalReason = NameRefusal | 'policy' | 'name-constraint';
/** The SDS server says `too-many-names` (of one stream), `peer-behind` and most of `deadline`; the minter the others. */
export type UnavailableReason =
  | 'peer-behind'
  | 'rate-limited'
  | 'too-many-names'
  | 'no-signer'
  | 'signer-expired'
  | 'signer-not-yet-valid'
  | 'deadline'
  | 'internal';

export type MintOutcome =
  | { readonly kind: 'granted'; readonly leaf: Leaf; readonly fresh: boolean }
  | { readonly kind: 'refused'; readonly reason: RefusalReason; readonly rule?: string }
  | { readonly kind: 'unavailable'; readonly reason: UnavailableReason };

/** What to do with a version that Envoy declares to hold after a reconnect. */
export type HeldVerdict =
  | { readonly kind: 'keep'; readonly notAfter: EpochMs }
  | { readonly kind: 'replace' }
  | { readonly kind: 'refuse'; readonly reason: RefusalReason; readonly rule?: string };

export interface Minter {
  /**
   * A leaf for the name, from the cache or new. Synchronous when the signature is (P-256), a promise when it is done
   * off the event loop (RSA, P-384). Never throws and never rejects.
   */
  mint(asked: AskedName): MintOutcome | Promise<MintOutcome>;
  /** Judges a held version from itself alone: same CA still in the pool, enough life left, name still allowed. */
  judgeHeld(asked: AskedName, version: string): HeldVerdict;
  /** The peer rejected the leaf of this name: it is not served again from the cache. */
  forgetLeaf(asked: AskedName): void;
  /** The TTL to send with a leaf: notAfter − now − 60 s (design section 5); at least 1 s. */
  resourceTtl(notAfter: EpochMs): DurationMs;
}
