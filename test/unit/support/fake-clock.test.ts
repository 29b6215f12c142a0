import { describe, expect, test } from 'vitest';
import { millis } from '../../../src/clock.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

describe('the fake clock', () => {
  test('fires timers at their own instants and in their order, those set meanwhile included', () => {
    const clock = createFakeClock(1000);
    const seen: string[] = [];
    const note = (what: string): void => void seen.push(`${what} at ${clock.now()}`);
    clock.after(millis(30), () => note('late'));
    clock.after(millis(10), () => {
      note('early');
      clock.after(millis(5), () => note('between'));
    });
    clock.advance(40);
    expect(seen).toEqual(['early at 1010', 'between at 1015', 'late at 1030']);
    expect([clock.now(), clock.monotonic(), clock.pendingTimers()]).toEqual([1040, 40, 0]);
  });

  test('does not fire what was cancelled, nor what is not yet due', () => {
    const clock = createFakeClock();
    let fired = 0;
    clock.after(millis(10), () => (fired += 1)).cancel();
    clock.after(millis(11), () => (fired += 1));
    clock.advance(10);
    expect([fired, clock.pendingTimers()]).toEqual([0, 1]);
  });

  test('goes on from timer to timer, in their order, where a test wants each on its own', () => {
    const clock = createFakeClock();
    const seen: string[] = [];
    for (const what of ['a', 'b']) clock.after(millis(10), () => seen.push(what));
    clock.advanceToNext();
    expect([seen, clock.monotonic(), clock.pendingTimers()]).toEqual([['a'], 10, 1]);
    clock.advanceToNext();
    clock.advanceToNext();
    expect([seen, clock.monotonic()]).toEqual([['a', 'b'], 10]);
  });

  test('lets a person change the time of day without a timer noticing', () => {
    const clock = createFakeClock(1000);
    let fired = 0;
    clock.after(millis(10), () => (fired += 1));
    clock.setWallTime(9000);
    expect([clock.now(), clock.monotonic(), fired]).toEqual([9000, 0, 0]);
  });
});
