// Whether Envoy took a file, told from its counters alone.
import { expect, test } from 'vitest';
import type { AdminClient } from '../../../src/envoy/admin-client.ts';
import { seconds } from '../../../src/clock.ts';
import { followedOutcome, type Followed } from '../../../src/envoy/followed-files.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { waitFor } from '../../support/wait-for.ts';

type Counted = { version: string; refused: number; warming: number };

/** `states` by look; the last one stays, and undefined is an Envoy that does not answer */
function outcomeOf(
  states: readonly (Counted | undefined)[],
  refusalsBefore: number | undefined,
  followed: Followed = { kind: 'clusters' },
): Promise<string> {
  const clock = createFakeClock();
  let look = 0;
  const state = (): Counted => {
    const seen = states[Math.min(look, states.length - 1)];
    if (seen === undefined) throw new Error('no answer');
    return seen;
  };
  const admin: AdminClient = {
    post: () => Promise.reject(new Error('nothing is posted')),
    readStats: async () => {
      try {
        const { refused, warming } = await Promise.resolve(state());
        return new Map([
          ['x.update_rejected', refused],
          ['cluster_manager.warming_clusters', warming],
        ]);
      } catch (thrown) {
        look += 1;
        throw thrown;
      }
    },
    get: () => {
      const { version } = state();
      look += 1;
      return Promise.resolve({ status: 200, body: `x.version_text: "${version}"\n` });
    },
  };
  let outcome: string | undefined;
  const wait = { admin, clock, followed, version: 'new', refusalsBefore, deadline: seconds(5) };
  void followedOutcome(wait).then((end) => (outcome = end));
  return waitFor('the outcome', () => {
    clock.advance(50);
    return outcome;
  });
}

const seen = (change: Partial<Counted>): Counted => ({ version: 'old', refused: 3, warming: 0, ...change });

test.each([
  ['the new version', [seen({}), seen({ version: 'new' })], 3, 'taken'],
  [
    'the new version with clusters that wait, and then none',
    [seen({ version: 'new', warming: 1 }), seen({ version: 'new' })],
    3,
    'taken',
  ],
  ['clusters that wait for ever', [seen({ version: 'new', warming: 1 })], 3, 'late'],
  ['one more refusal', [seen({}), seen({ refused: 4 })], 3, 'refused'],
  ['no change', [seen({})], 3, 'late'],
  ['no answer', [undefined], 3, 'late'],
  ['an earlier refusal, where nobody could count before', [seen({})], undefined, 'late'],
  [
    'a later refusal, where nobody could count before',
    [undefined, seen({}), seen({ refused: 4 })],
    undefined,
    'refused',
  ],
] as const)('%s', async (_, states, before, expected) => {
  expect(await outcomeOf(states, before)).toBe(expected);
});

test('a filter does not wait for clusters', async () => {
  const followed = { kind: 'filter', name: 'policy' } as const;
  expect(await outcomeOf([seen({ version: 'new', warming: 2 })], 3, followed)).toBe('taken');
});
