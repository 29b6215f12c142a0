// A clock that moves only when a test says so. Timers fire in the order of their due time, each at its own instant, so
// that code under test sees the same order as on a real clock.
import { epoch, millis } from '../../src/clock.ts';
import type { Clock } from '../../src/clock.ts';

export interface FakeClock extends Clock {
  /** moves both clocks on and fires what falls due, timers set meanwhile included */
  advance(ms: number): void;
  /** moves both clocks to the timer that falls due next, and fires only that one */
  advanceToNext(): void;
  /** moves only the wall clock, as a person or NTP does; fires nothing */
  setWallTime(ms: number): void;
  /** timers that wait */
  pendingTimers(): number;
}

type WaitingTimer = { readonly dueAt: number; readonly order: number; readonly run: () => void };

export function createFakeClock(startMs = Date.UTC(2026, 0, 1)): FakeClock {
  const waiting = new Set<WaitingTimer>();
  let wall = startMs;
  let monotonic = 0;
  let created = 0;

  const moveBy = (ms: number): void => {
    wall += ms;
    monotonic += ms;
  };
  const nextDueBy = (end: number): WaitingTimer | undefined =>
    [...waiting]
      .filter((timer) => timer.dueAt <= end)
      .sort((one, other) => one.dueAt - other.dueAt || one.order - other.order)[0];

  return {
    now: () => epoch(wall),
    monotonic: () => millis(monotonic),
    after: (delay, run) => {
      created += 1;
      const timer: WaitingTimer = { dueAt: monotonic + Math.max(0, delay), order: created, run };
      waiting.add(timer);
      return { cancel: () => void waiting.delete(timer) };
    },
    advance: (ms) => {
      const end = monotonic + ms;
      for (let timer = nextDueBy(end); timer !== undefined; timer = nextDueBy(end)) {
        moveBy(timer.dueAt - monotonic);
        waiting.delete(timer);
        timer.run();
      }
      moveBy(end - monotonic);
    },
    advanceToNext: () => {
      const timer = nextDueBy(Infinity);
      if (timer === undefined) return;
      moveBy(Math.max(0, timer.dueAt - monotonic));
      waiting.delete(timer);
      timer.run();
    },
    setWallTime: (ms) => {
      wall = ms;
    },
    pendingTimers: () => waiting.size,
  };
}
