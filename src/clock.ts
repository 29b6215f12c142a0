// Time as an argument: pure code gets an EpochMs, edges get a Clock, tests inject a fake one. Must not know any room.

declare const epochMs: unique symbol;
declare const durationMs: unique symbol;

/** milliseconds since 1970-01-01T00:00:00Z */
export type EpochMs = number & { readonly [epochMs]: true };
/** a length of time in milliseconds */
export type DurationMs = number & { readonly [durationMs]: true };

export type Timer = { cancel(): void };

export interface Clock {
  /** wall time; the only one to compare with notBefore and notAfter */
  now(): EpochMs;
  /** time that never goes backwards, for durations and rates */
  monotonic(): DurationMs;
  /** calls `run` once after `delay`; the timer does not keep the process alive */
  after(delay: DurationMs, run: () => void): Timer;
}

export const systemClock: Clock = {
  now: () => Date.now() as EpochMs,
  monotonic: () => performance.now() as DurationMs,
  after: (delay, run) => {
    let handle: NodeJS.Timeout;
    const wait = (left: number): void => {
      const next = Math.min(left, longestTimerMs);
      handle = setTimeout(() => (left > next ? wait(left - next) : run()), next);
      handle.unref();
    };
    wait(delay);
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Calls `run` each time that `pause` has passed, until it is cancelled, also by `run` itself. */
export function repeat(clock: Clock, pause: DurationMs, run: () => void): Timer {
  let timer = clock.after(pause, again);
  function again(): void {
    timer = clock.after(pause, again);
    run();
  }
  return { cancel: () => timer.cancel() };
}

/** Node fires a timer of more at once, and only warns */
const longestTimerMs = 2 ** 31 - 1;

export function epoch(ms: number): EpochMs {
  return ms as EpochMs;
}

export function millis(ms: number): DurationMs {
  return ms as DurationMs;
}

export function seconds(count: number): DurationMs {
  return (count * 1000) as DurationMs;
}

export function minutes(count: number): DurationMs {
  return (count * 60_000) as DurationMs;
}

export function hours(count: number): DurationMs {
  return (count * 3_600_000) as DurationMs;
}

export function days(count: number): DurationMs {
  return (count * 86_400_000) as DurationMs;
}

export function plus(at: EpochMs, span: DurationMs): EpochMs {
  return (at + span) as EpochMs;
}

export function minus(at: EpochMs, span: DurationMs): EpochMs {
  return (at - span) as EpochMs;
}

/** from `earlier` to `later`; negative when they are the other way round */
export function between(earlier: EpochMs, later: EpochMs): DurationMs {
  return (later - earlier) as DurationMs;
}
