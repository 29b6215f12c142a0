import { setImmediate as settled } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { millis } from '../../../src/clock.ts';
import { createWorkQueue, type WorkOutcome } from '../../../src/controller/work-queue.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

type Run = { readonly key: string; readonly end: (outcome: WorkOutcome) => void; readonly fail: () => void };

function createWorld(parallel = 2) {
  const clock = createFakeClock();
  const runs: Run[] = [];
  const failures: string[] = [];
  const queue = createWorkQueue({
    clock,
    random: () => 1,
    parallel,
    run: (key) =>
      new Promise<WorkOutcome>((resolve, reject) => {
        runs.push({ key, end: resolve, fail: () => reject(new Error('broken')) });
      }),
    failed: (key) => failures.push(key),
  });
  return { clock, queue, runs, failures, keys: () => runs.map(({ key }) => key) };
}

const done: WorkOutcome = { kind: 'done' };

test('a key that is added twice before its turn is worked on once', () => {
  const { queue, keys } = createWorld(1);
  queue.add('a');
  queue.add('b');
  queue.add('b');
  expect(keys()).toEqual(['a']);
  expect(queue.waiting()).toBe(1);
});

test('a key is never worked on beside itself, and what changed meanwhile makes one more round', async () => {
  const { clock, queue, runs, keys } = createWorld();
  queue.add('a');
  queue.add('a');
  queue.add('a');
  expect(keys()).toEqual(['a']);
  runs[0]?.end(done);
  await settled();
  clock.advance(1000);
  expect(keys()).toEqual(['a', 'a']);
  runs[1]?.end(done);
  await settled();
  clock.advance(60_000);
  expect(keys()).toEqual(['a', 'a']);
});

test('no more keys than allowed are worked on at once, in the order in which they fell due', async () => {
  const { clock, queue, runs, keys } = createWorld(2);
  for (const key of ['a', 'b', 'c', 'd']) {
    queue.add(key);
    clock.advance(1);
  }
  expect(keys()).toEqual(['a', 'b']);
  clock.advance(5000);
  expect(queue.oldestWaitMs()).toBe(5002);
  runs[1]?.end(done);
  await settled();
  expect(keys()).toEqual(['a', 'b', 'c']);
});

test('what fails is tried again for ever, ever more seldom, and at most half a minute apart', async () => {
  const { clock, queue, runs, failures } = createWorld();
  const starts: number[] = [];
  queue.add('a');
  for (let round = 0; round < 12; round += 1) {
    starts.push(clock.monotonic());
    runs.at(-1)?.fail();
    await settled();
    clock.advanceToNext();
  }
  const gaps = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
  expect(gaps.slice(0, 7)).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000]);
  expect(Math.max(...gaps)).toBe(30_000);
  expect(failures).toHaveLength(12);
});

test('a success makes the next failure wait shortly again', async () => {
  const { clock, queue, runs } = createWorld();
  queue.add('a');
  for (const outcome of ['retry', 'retry', 'retry', 'done'] as const) {
    runs.at(-1)?.end({ kind: outcome });
    await settled();
    clock.advanceToNext();
  }
  clock.advance(1000);
  queue.add('a');
  runs.at(-1)?.end({ kind: 'retry' });
  await settled();
  const before = runs.length;
  clock.advance(499);
  expect(runs.length).toBe(before);
  clock.advance(1);
  expect(runs.length).toBe(before + 1);
});

test('a change is worked on at once although the key waits for its retry', async () => {
  const { clock, queue, runs, keys } = createWorld();
  queue.add('a');
  for (let round = 0; round < 8; round += 1) {
    runs.at(-1)?.end({ kind: 'retry' });
    await settled();
    clock.advanceToNext();
  }
  runs.at(-1)?.end({ kind: 'retry' });
  await settled();
  const before = keys().length;
  clock.advance(250);
  queue.add('a');
  expect(keys().length).toBe(before + 1);
});

test('a key is worked on again at the time that its last round named', async () => {
  const { clock, queue, runs, keys } = createWorld();
  queue.add('a');
  runs[0]?.end({ kind: 'done', againAfterMs: millis(5000) });
  await settled();
  clock.advance(4999);
  expect(keys()).toEqual(['a']);
  clock.advance(1);
  expect(keys()).toEqual(['a', 'a']);
});

test('a hundred changes in a second make a few rounds, the last one after the last change', async () => {
  const { clock, queue, runs, keys } = createWorld();
  for (let change = 0; change < 100; change += 1) {
    queue.add('a');
    runs.at(-1)?.end(done);
    await settled();
    clock.advance(10);
  }
  clock.advance(1000);
  expect(keys().length).toBeLessThanOrEqual(7);
  expect(queue.waiting()).toBe(0);
});

test('a key that is changed without end is worked on about once a second', async () => {
  const { clock, queue, runs, keys } = createWorld();
  for (let change = 0; change < 6000; change += 1) {
    queue.add('a');
    runs.at(-1)?.end(done);
    await settled();
    clock.advance(10);
  }
  expect(keys().length).toBeGreaterThanOrEqual(60);
  expect(keys().length).toBeLessThanOrEqual(85);
});

test('nothing is kept of a key that is gone, unless it came back while that was found out', async () => {
  const { clock, queue, runs, keys } = createWorld();
  queue.add('a');
  queue.add('a');
  runs[0]?.end({ kind: 'gone' });
  await settled();
  clock.advance(200);
  expect(keys()).toEqual(['a', 'a']);
  runs[1]?.end({ kind: 'gone' });
  await settled();
  expect(clock.pendingTimers()).toBe(0);
  // a key that is known waits a little after its last round; this one is new
  queue.add('a');
  expect(keys()).toEqual(['a', 'a', 'a']);
});

test('a queue that is closed starts nothing, and is closed when what runs has ended', async () => {
  const { clock, queue, runs, keys } = createWorld(1);
  queue.add('a');
  queue.add('b');
  let isClosed = false;
  const closing = queue.close().then(() => (isClosed = true));
  await settled();
  expect(isClosed).toBe(false);
  runs[0]?.fail();
  await closing;
  queue.add('d');
  clock.advance(60_000);
  expect(keys()).toEqual(['a']);
  expect(clock.pendingTimers()).toBe(0);
});
