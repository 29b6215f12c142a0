// A token bucket: `perSecond` tokens flow in, up to `burst`. Pure: the caller brings the (monotonic) time. Must not know
// what a token pays for.
import type { DurationMs } from '../clock.ts';

export type TokenBucket = {
  /** takes one token if there is one; `now` is monotonic */
  take(now: DurationMs): boolean;
};

export function createTokenBucket(perSecond: number, burst: number): TokenBucket {
  let tokens = burst;
  let filledAt: DurationMs | undefined;
  return {
    take(now) {
      const elapsedMs = filledAt === undefined ? 0 : Math.max(0, now - filledAt);
      tokens = Math.min(burst, tokens + (elapsedMs / 1000) * perSecond);
      filledAt = now;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}
