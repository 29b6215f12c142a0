// The small parts of the minter on their own: bucket, queue, random blocks.
import { describe, expect, it } from 'vitest';
import { millis, seconds } from '../../../src/clock.ts';
import { createRandomBlocks } from '../../../src/mint/random-blocks.ts';
import { createSigningQueue } from '../../../src/mint/signing-queue.ts';
import { createTokenBucket } from '../../../src/mint/token-bucket.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

describe('a token bucket', () => {
  it('gives its burst, then its rate, and never saves up more than its burst', () => {
    const bucket = createTokenBucket(10, 5);
    const takeAll = (at: number) => {
      let taken = 0;
      while (bucket.take(millis(at))) taken += 1;
      return taken;
    };
    expect(takeAll(1000)).toBe(5);
    expect(takeAll(1099)).toBe(0);
    expect(takeAll(1200)).toBe(2);
    expect(takeAll(1_000_000)).toBe(5);
  });

  it('gives nothing for time that goes backwards', () => {
    const bucket = createTokenBucket(1000, 1);
    expect(bucket.take(millis(500))).toBe(true);
    expect(bucket.take(millis(0))).toBe(false);
  });
});

describe('a signing queue', () => {
  function queueOf(limits: { atOnce?: number; maxWaiting?: number } = {}) {
    const clock = createFakeClock();
    const queue = createSigningQueue(clock, { atOnce: 1, maxWaiting: 2, deadlineMs: seconds(2), ...limits });
    const finish: (() => void)[] = [];
    const started: string[] = [];
    const run = (name: string) =>
      queue.run(() => {
        started.push(name);
        return new Promise<string>((resolve) => finish.push(() => resolve(name)));
      });
    return { clock, queue, run, finish, started };
  }

  it('runs a few at once, oldest first', async () => {
    const { run, finish, started } = queueOf();
    const jobs = [run('a'), run('b'), run('c')];
    expect(started).toEqual(['a']);
    for (const index of [0, 1, 2]) {
      finish[index]?.();
      await jobs[index];
    }
    expect(started).toEqual(['a', 'b', 'c']);
  });

  it('takes no more than it can hold', async () => {
    const { run, started } = queueOf();
    for (const name of ['a', 'b', 'c']) void run(name);
    expect(await run('d')).toBeUndefined();
    expect(started).toEqual(['a']);
  });

  it('drops what waited too long and starts what did not', async () => {
    const { run, finish, started, clock } = queueOf();
    const first = run('a');
    const late = run('b');
    clock.advance(1999);
    const young = run('c');
    clock.advance(1);
    finish[0]?.();
    await first;
    expect(await late).toBeUndefined();
    finish[1]?.();
    expect(await young).toBe('c');
    expect(started).toEqual(['a', 'c']);
  });

  it('goes on after a job that fails', async () => {
    const { queue } = queueOf();
    const failing = queue.run(() => Promise.reject(new Error('no')));
    const next = queue.run(() => Promise.resolve('yes'));
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('yes');
  });
});

describe('random blocks', () => {
  it('hand out each byte once, in order, and larger pieces straight from the source', () => {
    let next = 0;
    const draws: number[] = [];
    const take = createRandomBlocks((count) => {
      draws.push(count);
      return Uint8Array.from({ length: count }, () => next++ % 251);
    });
    const bytes = Array.from({ length: 256 }, () => [...take(16)]).flat();
    expect(bytes).toEqual(Array.from({ length: 4096 }, (_, index) => index % 251));
    expect(draws).toEqual([4096]);
    take(10_000);
    take(1);
    expect(draws).toEqual([4096, 10_000, 4096]);
  });

  it('do not show the rest of a block through a piece', () => {
    const take = createRandomBlocks((count) => new Uint8Array(count));
    expect(take(16).buffer.byteLength).toBe(16);
  });
});
