// The minter's slice of the settings: what may be tuned, with the defaults and limits of design section 5. Must not
// know where a value came from.
import { hours, minutes, seconds, type DurationMs } from '../clock.ts';

export type MintSettings = {
  /** from now to notAfter, before jitter and clamping; 2 min to 24 h */
  readonly leafLifetimeMs: DurationMs;
  /** canonical names whose leaf is kept */
  readonly maxCachedLeaves: number;
  /** new leaves a second over all names; a cached answer is never limited */
  readonly missesPerSecond: number;
  readonly missBurst: number;
  /** how long an asynchronous signer may keep an ask waiting; shorter than Envoy's 5 s connect timeout */
  readonly answerDeadlineMs: DurationMs;
};

export const defaultMintSettings = {
  leafLifetimeMs: hours(1),
  maxCachedLeaves: 10_000,
  missesPerSecond: 2000,
  missBurst: 10_000,
  answerDeadlineMs: seconds(2),
} as const satisfies MintSettings;

/** shortest leaf; a signer with less life than this does not sign (design section 4) */
export const shortestLeafMs = minutes(2);

/** longest leaf that any setting allows */
export const longestLeafMs = hours(24);

/** notBefore stands this far back: clocks of clients run behind (facts: substrate and boulder backdate alike) */
export const backdateMs = minutes(5);

/** a leaf's lifetime is shortened by up to this share, so that names asked together do not fall due together */
export const lifetimeJitter = 0.1;

/** Envoy serves an expired leaf without a word, so its TTL ends this long before notAfter (design section 5) */
export const ttlMarginMs = seconds(60);

/** what a held or cached leaf must have beyond the TTL margin: a shorter rest is not worth an answer */
export const leastUsefulMs = seconds(10);

/** after its first leaf, one in this many leaves of a signer and key is parsed back and verified (decision 9) */
export const checkEvery = 1000;

/** signatures made at once off the event loop (libuv has four threads by default) */
export const maxSigningAtOnce = 4;

/** asks that may wait for an asynchronous signature; more would outlive the deadline anyway */
export const maxSigningQueue = 2048;
