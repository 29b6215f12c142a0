// A value that is read from files again when it is old, and that stays the last good one when reading fails. Must not
// know what it is.
import type { Clock, DurationMs } from '../clock.ts';

export interface FollowedValue<T> {
  /** Rejects only while nothing was ever read. */
  current(): Promise<T>;
  /** the next call reads again, however young the value is */
  expire(): void;
}

export type FollowOptions<T> = {
  readonly clock: Clock;
  readonly maxAgeMs: DurationMs;
  readonly read: () => Promise<T>;
  /** reading failed and the last good value stays */
  readonly onKept: (thrown: unknown) => void;
};

export function followValue<T>({ clock, maxAgeMs, read, onKept }: FollowOptions<T>): FollowedValue<T> {
  let last: { readonly value: T } | undefined;
  let readAt: DurationMs | undefined;
  let reading: Promise<T> | undefined;
  const readAgain = async (): Promise<T> => {
    // expire() while this read runs asks for another one
    readAt = clock.monotonic();
    try {
      const value = await read();
      last = { value };
      return value;
    } catch (thrown) {
      if (last === undefined) throw thrown;
      onKept(thrown);
      return last.value;
    } finally {
      reading = undefined;
    }
  };
  return {
    current: () => {
      const isYoung = readAt !== undefined && clock.monotonic() - readAt < maxAgeMs;
      if (last !== undefined && isYoung) return Promise.resolve(last.value);
      reading ??= readAgain();
      return reading;
    },
    expire: () => {
      readAt = undefined;
    },
  };
}
