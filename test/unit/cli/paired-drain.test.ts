import { beforeEach, expect, test } from 'vitest';
import { createPairedDrain, type PairedDrain } from '../../../src/cli/paired-drain.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';

let clock: FakeClock;
let drain: PairedDrain;
let begun: number;
let isOver: () => void;

beforeEach(() => {
  clock = createFakeClock();
  begun = 0;
  const over = Promise.withResolvers<undefined>();
  isOver = () => over.resolve(undefined);
  drain = createPairedDrain({ clock, drain: () => over.promise, begun: () => void (begun += 1) });
});

test.each([
  ['the sidecar first', () => [drain.announce(), drain.wait()]],
  ['Envoy first', () => [drain.wait(), drain.announce()]],
])('both hooks together drain once, and both hear of the end: %s', async (_name, hooks) => {
  const heard = hooks();
  expect(begun).toBe(1);
  isOver();
  expect(await Promise.all(heard)).toEqual(['drained', 'drained']);
  expect(await drain.wait()).toBe('drained');
  expect(begun).toBe(1);
});

test('a hook that comes within ten seconds of the other counts, and a later one does not', async () => {
  const alone = drain.announce();
  clock.advance(10_000);
  expect(await alone).toBe('alone');
  const late = drain.wait();
  clock.advance(9_999);
  expect(begun).toBe(0);
  void drain.announce();
  expect(begun).toBe(1);
  isOver();
  expect(await late).toBe('drained');
});

test.each([
  ['Envoy', () => drain.wait()],
  ['the sidecar', () => drain.announce()],
])('what only %s hears drains nobody, however often', async (_name, hook) => {
  const heard = Array.from({ length: 100 }, hook);
  clock.advance(10_000);
  expect(new Set(await Promise.all(heard))).toEqual(new Set(['alone']));
  expect(begun).toBe(0);
});

test('of those who wait the longest makes way, so that the kubelet is not kept out', async () => {
  const first = drain.wait();
  const others = Array.from({ length: 8 }, () => drain.wait());
  expect(await first).toBe('alone');
  void drain.announce();
  isOver();
  expect(await Promise.all(others)).toEqual(Array.from({ length: 8 }, () => 'drained'));
});
