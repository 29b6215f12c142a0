import { expect, test } from 'vitest';
import { createSeldom } from '../../../src/observe/seldom.ts';
import { millis } from '../../../src/clock.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

test('the first of a kind is told at once, then one a second with how many were left out', () => {
  const clock = createFakeClock(0);
  const told: string[] = [];
  const seldom = createSeldom(clock);
  const say = (kind: string): void => seldom(kind, (leftOut) => void told.push(`${kind} ${leftOut}`));
  for (let count = 0; count < 5; count += 1) say('policy');
  say('deadline');
  clock.advance(millis(999));
  say('policy');
  expect(told).toEqual(['policy 0', 'deadline 0']);
  clock.advance(millis(1));
  say('policy');
  expect(told).toEqual(['policy 0', 'deadline 0', 'policy 5']);
});
