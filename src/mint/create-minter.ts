// The minter: one door from an asked name to a leaf, a refusal or "not now". The order of the checks is the promise:
// nothing a client chose costs a key, a signature or memory before policy and signer allow it, and a limit never hits
// a cached answer. Must not know gRPC, files or who asks.
import { between, millis, type Clock, type DurationMs, type EpochMs } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import type { AskedName } from '../names/name-types.ts';
import { parseAskedName } from '../names/parse-asked-name.ts';
import type { Pool } from '../pool/pool-types.ts';
import type { Signer } from '../x509/certificate-types.ts';
import { judgeHeldVersion } from './judge-held-version.ts';
import { createLeafCache, type LeafCache } from './leaf-cache.ts';
import { LeafPress, type MintableName } from './leaf-press.ts';
import type { MintEvents } from './mint-events.ts';
import { leastUsefulMs, maxSigningAtOnce, maxSigningQueue, shortestLeafMs, ttlMarginMs } from './mint-settings.ts';
import type { MintSettings } from './mint-settings.ts';
import type { HeldVerdict, Leaf, Minter, MintOutcome, RefusalReason, UnavailableReason } from './mint-types.ts';
import { createRandomBlocks } from './random-blocks.ts';
import { createSigningQueue, type SigningQueue } from './signing-queue.ts';
import { createTokenBucket, type TokenBucket } from './token-bucket.ts';

export type MinterParts = {
  /** asked at every mint, so that a new pool counts at once; undefined while there is none */
  readonly pool: () => Pool | undefined;
  readonly mayMint: (name: MintableName) => { readonly allowed: boolean; readonly rule: string };
  readonly clock: Clock;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly settings: MintSettings;
  readonly events: MintEvents;
};

/** an asked name that is too long to be one is not carried into a log in full (bytes; a name has at most 253) */
const longestShownName = 256;

type Refusal = Extract<MintOutcome, { kind: 'refused' }>;

/** What the checks before any work say: a leaf may be made with this press, or this is the answer. */
type Admission =
  | { readonly kind: 'admitted'; readonly name: MintableName; readonly key: string; readonly press: LeafPress }
  | Exclude<MintOutcome, { kind: 'granted' }>;

export function createMinter(parts: MinterParts): Minter {
  return new LeafMinter(parts);
}

class LeafMinter implements Minter {
  readonly #parts: MinterParts;
  readonly #cache: LeafCache;
  readonly #misses: TokenBucket;
  readonly #queue: SigningQueue;
  readonly #random: (count: number) => Uint8Array;
  /** names whose leaf is being signed off the event loop; never lru-cache's fetch, which fails callers on eviction */
  readonly #flights = new Map<string, Promise<MintOutcome>>();
  #press: LeafPress | undefined;

  constructor(parts: MinterParts) {
    const { settings, clock } = parts;
    this.#parts = parts;
    this.#cache = createLeafCache(settings.maxCachedLeaves);
    this.#misses = createTokenBucket(settings.missesPerSecond, settings.missBurst);
    this.#random = createRandomBlocks(parts.randomBytes);
    this.#queue = createSigningQueue(clock, {
      atOnce: maxSigningAtOnce,
      maxWaiting: maxSigningQueue,
      deadlineMs: settings.answerDeadlineMs,
    });
  }

  mint(asked: AskedName): MintOutcome | Promise<MintOutcome> {
    try {
      const admission = this.#admit(asked);
      if (admission.kind !== 'admitted') return this.#told(asked, admission);
      const { name, key, press } = admission;
      const cached = this.#fromCache(key, press);
      if (cached !== undefined) return { kind: 'granted', leaf: cached, fresh: false };
      const flight = this.#flights.get(key);
      if (flight !== undefined) return flight;
      if (!this.#misses.take(this.#parts.clock.monotonic())) return this.#unavailable('rate-limited');
      if (press.isSynchronous) return this.#grant(key, name, () => press.makeSync(name));
      return this.#fly(asked, admission);
    } catch (error) {
      return this.#failed(error);
    }
  }

  judgeHeld(asked: AskedName, version: string): HeldVerdict {
    try {
      const name = parseAskedName(asked);
      const refusal = name.kind === 'refused' ? refused(name.reason) : this.#refusalByPolicy(name);
      if (refusal !== undefined) return { ...refusal, kind: 'refuse' };
      const notAfter = judgeHeldVersion(version, this.#parts.pool(), this.#parts.clock.now());
      return notAfter === undefined ? { kind: 'replace' } : { kind: 'keep', notAfter };
    } catch (error) {
      this.#failed(error);
      return { kind: 'replace' };
    }
  }

  forgetLeaf(asked: AskedName): void {
    const name = parseAskedName(asked);
    if (name.kind !== 'refused') this.#cache.forget(cacheKey(name));
  }

  resourceTtl(notAfter: EpochMs): DurationMs {
    return millis(Math.max(1000, between(this.#parts.clock.now(), notAfter) - ttlMarginMs));
  }

  #admit(asked: AskedName): Admission {
    const name = parseAskedName(asked);
    if (name.kind === 'refused') return refused(name.reason);
    const refusal = this.#refusalByPolicy(name);
    if (refusal !== undefined) return refusal;
    const press = this.#currentPress();
    if (press === undefined) return { kind: 'unavailable', reason: 'no-signer' };
    const now = this.#parts.clock.now();
    if (press.signer.certificate.notBefore > now) return { kind: 'unavailable', reason: 'signer-not-yet-valid' };
    if (between(now, press.signer.notAfter) < shortestLeafMs) return { kind: 'unavailable', reason: 'signer-expired' };
    if (!press.permits(name)) return refused('name-constraint');
    return { kind: 'admitted', name, key: cacheKey(name), press };
  }

  #refusalByPolicy(name: MintableName): Refusal | undefined {
    const { allowed, rule } = this.#parts.mayMint(name);
    return allowed ? undefined : { kind: 'refused', reason: 'policy', rule };
  }

  /** The press of the active signer; another signer means another press and an empty cache. */
  #currentPress(): LeafPress | undefined {
    const pool = this.#parts.pool();
    if (pool === undefined) return undefined;
    if (pool.signer === this.#press?.signer) return this.#press;
    if (this.#press === undefined || !signsAlike(pool.signer, this.#press.signer)) {
      this.#cache.clear();
      this.#press = new LeafPress(pool, { ...this.#parts, randomBytes: this.#random });
    }
    return this.#press;
  }

  #fromCache(key: string, press: LeafPress): Leaf | undefined {
    const leaf = this.#cache.get(key);
    if (leaf === undefined) return undefined;
    if (!this.#isWorthServing(leaf, press)) {
      this.#cache.forget(key);
      return undefined;
    }
    this.#parts.events.cacheHit(key);
    return leaf;
  }

  /** By the wall clock: enough life for an answer to be useful, or as much as this signer can still give. */
  #isWorthServing(leaf: Leaf, press: LeafPress): boolean {
    const { clock, settings } = this.#parts;
    const now = clock.now();
    if (leaf.notBefore > now) return false;
    const leastMs = ttlMarginMs + Math.max(leastUsefulMs, settings.leafLifetimeMs / 10);
    return between(now, leaf.notAfter) >= leastMs || leaf.notAfter + 1000 > press.signer.notAfter;
  }

  #grant(key: string, name: MintableName, make: () => Leaf): MintOutcome {
    const startedAt = this.#parts.clock.monotonic();
    return this.#minted(key, name, make(), startedAt);
  }

  #minted(key: string, name: MintableName, leaf: Leaf, startedAt: DurationMs): MintOutcome {
    const { clock, events } = this.#parts;
    this.#cache.put(key, leaf);
    const tookMs = millis(clock.monotonic() - startedAt);
    events.minted({ nameKind: name.kind, name: key, serialHex: leaf.serialHex, tookMs });
    return { kind: 'granted', leaf, fresh: true };
  }

  #fly(asked: AskedName, admission: Extract<Admission, { kind: 'admitted' }>): Promise<MintOutcome> {
    const { name, key, press } = admission;
    const startedAt = this.#parts.clock.monotonic();
    const landed = (leaf: Leaf | undefined): MintOutcome | Promise<MintOutcome> => {
      this.#flights.delete(key);
      if (leaf === undefined) return this.#unavailable('deadline');
      // pool and policy may have changed while it was signed: the whole road again, and never a leaf of the old one
      if (this.#currentPress() !== press || this.#refusalByPolicy(name) !== undefined) return this.mint(asked);
      return this.#minted(key, name, leaf, startedAt);
    };
    const flight = this.#queue
      .run(() => press.make(name))
      .then(landed)
      .catch((error: unknown) => {
        this.#flights.delete(key);
        return this.#failed(error);
      });
    this.#flights.set(key, flight);
    return flight;
  }

  #told(asked: AskedName, outcome: Exclude<MintOutcome, { kind: 'granted' }>): MintOutcome {
    if (outcome.kind === 'unavailable') return this.#unavailable(outcome.reason);
    this.#parts.events.refused(asked.slice(0, longestShownName), outcome.reason, outcome.rule);
    return outcome;
  }

  #unavailable(reason: UnavailableReason, error?: LeafgateError): MintOutcome {
    this.#parts.events.unavailable(reason, error);
    return { kind: 'unavailable', reason };
  }

  #failed(thrown: unknown): MintOutcome {
    const error = LeafgateError.from(thrown);
    if (error.code === 'mint-leaf-check-failed') this.#parts.events.leafCheckFailed(error);
    return this.#unavailable('internal', error);
  }
}

function refused(reason: RefusalReason): Refusal {
  return { kind: 'refused', reason };
}

/** canonical: several spellings share one leaf; an address never looks like a host name */
function cacheKey(name: MintableName): string {
  return name.kind === 'dns' ? name.host : name.address.text;
}

/** The same CA, key and chain: a pool file that was only rewritten must not cost every cached leaf. */
function signsAlike(one: Signer, other: Signer): boolean {
  return (
    one.certificate.sha256 === other.certificate.sha256 &&
    one.notAfter === other.notAfter &&
    one.chain.length === other.chain.length &&
    one.chain.every((certificate, index) => certificate.sha256 === other.chain[index]?.sha256)
  );
}
