// The clock of the machine, where Node's timers would do something else.
import { expect, test } from 'vitest';
import { days, millis, systemClock } from '../../../src/clock.ts';

test('a wait of months does not end at once, and can be cancelled', async () => {
  const fired: string[] = [];
  const timers = [days(30), days(3650)].map((delay) => systemClock.after(delay, () => fired.push(`${delay}`)));
  // what Node counts too far ends after a millisecond, so before this one
  await new Promise<void>((resolve) => void systemClock.after(millis(20), resolve));
  expect(fired).toEqual([]);
  for (const timer of timers) timer.cancel();
});
