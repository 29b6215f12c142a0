import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { millis, seconds } from '../../../src/clock.ts';
import { followSettled, type SettledLooks } from '../../../src/follow-settled.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

/** what is told while one look after another sees these letters; the last one is seen ever after */
async function told(sights: string, more: Partial<SettledLooks<string>> = {}): Promise<string> {
  const clock = createFakeClock();
  let [looks, tells] = [0, ''];
  const follower = followSettled<string>({
    ...{ clock, isSame: (one, other) => one === other, lookAgainAfter: () => seconds(1) },
    look: () => Promise.resolve(sights[Math.min(looks++, sights.length - 1)] ?? ''),
    settled: (sight) => void (tells += sight),
    ...more,
    ...(more.restless && { restless: { ...more.restless, tell: () => (tells += '!') } }),
  });
  while (looks < sights.length + 2) {
    await nextTurn();
    clock.advanceToNext();
  }
  await nextTurn();
  await follower.close();
  return tells;
}

const capitals = { isWhole: (sight: string) => sight === sight.toUpperCase() };
const restless = { restless: { looks: 3, tell: () => undefined } };

test.each<[string, string, string, Partial<SettledLooks<string>>?]>([
  ['the first sight, and no other while it stays', 'aaaa', 'a'],
  ['another one when it is seen twice', 'aabb', 'ab'],
  ['nothing of one that is seen once', 'aabaa', 'a'],
  ['nothing of two that take turns', 'aabcbcbcaa', 'a'],
  ['the first again after another one', 'aabbaa', 'aba'],
  ['nothing of what was known before', 'aaa', '', { known: 'a' }],
  ['what comes after it', 'aabb', 'b', { known: 'a' }],
  ['what is whole at once, and what may be a part at the second look', 'AbcC', 'AC', capitals],
  ['what is whole again after what was told', 'AbbA', 'AbA', capitals],
  ['also where something else was seen in between', 'AbbcA', 'AbA', capitals],
  ['that nothing settles, once for each time', 'aabcdefff', 'a!f', restless],
  ['and then what settles, the sight of before too', 'aabcdaa', 'a!a', restless],
])('it tells %s: %s', async (_, sights, expected, more) => {
  expect(await told(sights, more)).toBe(expected);
});

test('a sight is confirmed sooner than the next one is looked for, and nothing is told once it is closed', async () => {
  const clock = createFakeClock();
  const times: number[] = [];
  const tells: number[] = [];
  const waiting = Promise.withResolvers<void>();
  const follower = followSettled<number>({
    ...{ clock, isSame: (one, other) => one === other, lookAgainAfter: () => seconds(1), confirmAfter: millis(30) },
    look: async () => {
      times.push(clock.monotonic());
      if (times.length === 5) await waiting.promise;
      return times.length < 4 ? 1 : 2;
    },
    settled: (sight) => void tells.push(sight),
  });
  for (let looks = 1; looks < 5; looks += 1) {
    await nextTurn();
    clock.advanceToNext();
  }
  expect(times).toEqual([0, 30, 1030, 2030, 2060]);
  const closed = follower.close();
  waiting.resolve();
  await closed;
  expect([tells, clock.pendingTimers()]).toEqual([[1], 0]);
});

test('the next look waits until what was told has been dealt with', async () => {
  const clock = createFakeClock();
  const dealtWith = Promise.withResolvers<void>();
  const follower = followSettled<string>({
    ...{ clock, isSame: () => true, lookAgainAfter: () => seconds(1) },
    ...{ look: () => Promise.resolve('a'), settled: () => dealtWith.promise },
  });
  await nextTurn();
  clock.advanceToNext();
  await nextTurn();
  expect(clock.pendingTimers()).toBe(0);
  dealtWith.resolve();
  await nextTurn();
  expect(clock.pendingTimers()).toBe(1);
  await follower.close();
});
