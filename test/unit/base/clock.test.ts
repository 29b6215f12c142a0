// The clock of the machine, where Node's timers would do something else.
import { expect, test } from 'vitest';
import { days, millis, repeat, seconds, systemClock } from '../../../src/clock.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

test('a wait of months does not end at once, and can be cancelled', async () => {
  const fired: string[] = [];
  const timers = [days(30), days(3650)].map((delay) => systemClock.after(delay, () => fired.push(`${delay}`)));
  // what Node counts too far ends after a millisecond, so before this one
  await new Promise<void>((resolve) => void systemClock.after(millis(20), resolve));
  expect(fired).toEqual([]);
  for (const timer of timers) timer.cancel();
});

test('what is repeated ends when it is cancelled, also by itself', () => {
  const clock = createFakeClock();
  let count = 0;
  const timer = repeat(clock, seconds(1), () => {
    count += 1;
    if (count === 3) timer.cancel();
  });
  clock.advance(seconds(10));
  expect([count, clock.pendingTimers()]).toEqual([3, 0]);
});
