// What operators read when asks go without a leaf: each is counted once, under its reason, and told in its own sentence.
import { expect, test } from 'vitest';
import { mintEvents, sdsEvents } from '../../../src/cli/mint-wiring.ts';
import { millis } from '../../../src/clock.ts';
import type { AskedName } from '../../../src/names/name-types.ts';
import { createMetrics } from '../../../src/observe/create-metrics.ts';
import type { Log } from '../../../src/observe/log.ts';
import type { RemovalReason } from '../../../src/sds/stream-events.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

function start() {
  const said: string[] = [];
  const say = (sentence: string): void => void said.push(sentence);
  const log: Log = { debug: () => undefined, info: say, warn: say, error: say, with: () => log };
  const metrics = createMetrics({ withProcessMetrics: false });
  const parts = { log, metrics, clock: createFakeClock() };
  const [mint, sds] = [mintEvents(parts), sdsEvents(parts)];
  return {
    said,
    mint,
    removed: (why: RemovalReason) =>
      sds.answered({ name: 'a.test' as AskedName, outcome: 'removed', why, serialHex: '', waitMs: millis(1) }),
    counted: async () => {
      const lines = (await metrics.render()).split('\n');
      const counts = lines.map((line) => /^leafgate_names_unavailable_total\{reason="(.+)"\} ([1-9]\d*)$/.exec(line));
      return counts.flatMap((match) => (match === null ? [] : [`${match[1] ?? ''} ${match[2] ?? ''}`]));
    },
  };
}

const reasons = [
  ['deadline', /within the answer deadline/],
  ['too-many-names', /its stream asks for more than 50000 names/],
  ['peer-behind', /its peer does not answer/],
] as const;

test.each(reasons)('a removal for %s is counted under it and told as what it is', async (why, sentence) => {
  const { removed, said, counted } = start();
  removed(why);
  removed(why);
  expect(await counted()).toEqual([`${why} 2`]);
  expect(said).toEqual([expect.stringMatching(sentence)]);
});

test('a held name that is taken back was minted: it is told, and not counted as unavailable', async () => {
  const { removed, said, counted } = start();
  removed('evicted');
  expect(await counted()).toEqual([]);
  expect(said).toEqual([expect.stringMatching(/longest-held/)]);
});

test('what the minter cannot mint is counted once, whether the minter or the deadline ends it', async () => {
  const { mint, removed, counted } = start();
  mint.unavailable('rate-limited', undefined);
  removed('rate-limited');
  mint.unavailable('deadline', undefined);
  removed('deadline');
  expect(await counted()).toEqual(['rate-limited 1', 'deadline 1']);
});

test('what is refused for good is neither', async () => {
  const { removed, said, counted } = start();
  for (const why of ['policy', 'rejected'] as const) removed(why);
  expect([await counted(), said]).toEqual([[], []]);
});
