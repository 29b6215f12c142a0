import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { millis, systemClock } from '../../../src/clock.ts';
import {
  followLog,
  oldestPosition,
  type FollowLogOptions,
  type LogBatch,
  type LogFollower,
} from '../../../src/observe/follow-log.ts';
import { beginRun, closedSegments, type LogPosition } from '../../../src/observe/log-segments.ts';
import { readSegment } from '../../../src/observe/read-segment.ts';
import { rotateLog, type LogRotation, type RotateLogOptions } from '../../../src/observe/rotate-log.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

const start: LogPosition = { segment: 1, offset: 0 };

let folder: TempFolder;
let path: string;
let follower: LogFollower | undefined;
let rotation: LogRotation | undefined;
let lines: string[];
let happened: string[];

beforeEach(() => {
  folder = createTempFolder();
  path = folder.file('access.json');
  lines = [];
  happened = [];
});
afterEach(async () => {
  await rotation?.close();
  rotation = undefined;
  await follower?.close();
  follower = undefined;
  folder.remove();
});

const failed = (error: unknown): void => void happened.push(error instanceof Error ? error.message : 'failed');

function follow(options: Partial<FollowLogOptions> = {}): LogFollower {
  follower = followLog({
    path,
    clock: systemClock,
    pollMs: millis(2),
    maxLineBytes: 1_000,
    from: start,
    onBatch: (batch) => {
      lines.push(...batch.lines);
      return Promise.resolve(true);
    },
    events: {
      lineTooLong: () => void happened.push('too long'),
      lineCut: () => void happened.push('cut'),
      truncated: () => void happened.push('truncated'),
      segmentsMissed: (count) => void happened.push(`missed ${count}`),
      failed,
    },
    ...options,
  });
  return follower;
}

function rotate(options: Partial<RotateLogOptions> = {}): void {
  rotation = rotateLog({
    path,
    clock: systemClock,
    pollMs: millis(2),
    segmentBytes: 10,
    keepBytes: 1_000_000,
    reopen: () => Promise.resolve(),
    reading: () => follower?.position().segment ?? 1,
    events: { removedUnread: (count) => void happened.push(`unread ${count}`), failed },
    ...options,
  });
}

const linesToBe = (expected: readonly string[]) =>
  waitFor(`lines ${expected.join(' ')}`, () => lines.length >= expected.length).then(() =>
    expect(lines).toEqual(expected),
  );

describe('a followed log', () => {
  test('gives what was there before and what comes after, each line once', async () => {
    writeFileSync(path, 'one\ntwo\n');
    follow();
    await linesToBe(['one', 'two']);
    appendFileSync(path, 'three\n');
    await linesToBe(['one', 'two', 'three']);
  });

  test('is waited for when it is not there yet', async () => {
    follow();
    writeFileSync(path, 'one\n');
    await linesToBe(['one']);
    expect(happened).toEqual([]);
  });

  test('a line is given when it is whole, not before', async () => {
    const following = follow();
    appendFileSync(path, 'whole\nhalf');
    await linesToBe(['whole']);
    appendFileSync(path, ' and half\nnever ended');
    await linesToBe(['whole', 'half and half']);
    await following.close();
    follower = undefined;
    expect(lines).toEqual(['whole', 'half and half']);
    expect(following.position()).toEqual({ segment: 1, offset: 'whole\nhalf and half\n'.length });
  });

  test('a line above the limit is left out and counted, the next one is given', async () => {
    follow();
    appendFileSync(path, `${'x'.repeat(1_001)}\n${'y'.repeat(1_000)}\n`);
    await linesToBe(['y'.repeat(1_000)]);
    expect(happened).toEqual(['too long']);
  });

  test('is read through all its segments in the order of their numbers', async () => {
    for (const number of [9, 10, 11]) writeFileSync(`${path}.${number}`, `in ${number}\n`);
    writeFileSync(path, 'growing\n');
    writeFileSync(`${path}.shown`, 'no segment\n');
    writeFileSync(`${path}.12.new`, 'no segment\n');
    follow({ from: await oldestPosition(path) });
    await linesToBe(['in 9', 'in 10', 'in 11', 'growing']);
    expect(happened).toEqual([]);
  });

  test('goes on from a place in a segment that has been closed meanwhile', async () => {
    writeFileSync(`${path}.1`, 'one\ntwo\n');
    writeFileSync(path, 'three\n');
    follow({ from: { segment: 1, offset: 4 } });
    await linesToBe(['two', 'three']);
  });

  test('what was removed before it was read is told, and reading goes on with what is left', async () => {
    writeFileSync(`${path}.5`, 'five\n');
    writeFileSync(path, 'six\n');
    follow({ from: { segment: 2, offset: 7 } });
    await linesToBe(['five', 'six']);
    expect(happened).toEqual(['missed 3']);
  });

  test('a segment that ended within a line is told, and its piece is not joined to the next segment', async () => {
    writeFileSync(`${path}.1`, 'one\npie');
    writeFileSync(path, 'ce\n');
    follow();
    await linesToBe(['one', 'ce']);
    expect(happened).toEqual(['cut']);
  });

  test('a rotation by somebody else is followed', async () => {
    follow();
    appendFileSync(path, 'one\n');
    await linesToBe(['one']);
    renameSync(path, `${path}.old`);
    appendFileSync(`${path}.old`, 'two\n');
    writeFileSync(path, 'three\n');
    await linesToBe(['one', 'two', 'three']);
  });

  test('each line is given once, wherever between two of its looks a rotation falls', async () => {
    const rotations = 400;
    appendFileSync(path, '0\n');
    follow({ pollMs: millis(0) });
    for (let number = 1; number <= rotations; number += 1) {
      await waitFor('the line before it', () => lines.length >= number);
      // the follower's looks go on meanwhile, one step with each turn of the event loop
      for (let turns = number % 8; turns > 0; turns -= 1) await new Promise((done) => setImmediate(done));
      renameSync(path, `${path}.${number}`);
      writeFileSync(path, `${number}\n`);
    }
    await waitFor('the last line', () => lines.length > rotations);
    expect(lines).toEqual(Array.from({ length: rotations + 1 }, (_, number) => String(number)));
    expect(happened).toEqual([]);
  });

  test('a truncated file is read from its new start, and said', async () => {
    follow();
    appendFileSync(path, 'one\ntwo\n');
    await linesToBe(['one', 'two']);
    truncateSync(path, 0);
    await waitFor('the truncation to be seen', () => happened.includes('truncated'));
    appendFileSync(path, 'three\n');
    await linesToBe(['one', 'two', 'three']);
  });

  test('a log that cannot be read is told and tried again', async () => {
    mkdirSync(path);
    follow();
    await waitFor('the failure', () => happened.length > 0);
    rmSync(path, { recursive: true });
    writeFileSync(path, 'one\n');
    await linesToBe(['one']);
  });

  test('closing gives what was written last', async () => {
    writeFileSync(path, 'first\n');
    const following = follow({ pollMs: millis(60_000) });
    await linesToBe(['first']);
    appendFileSync(path, 'last\n');
    await following.close();
    follower = undefined;
    expect(lines).toEqual(['first', 'last']);
  });

  test('nothing more is read while whoever takes lines is busy, and nothing is lost', async () => {
    const batches: LogBatch[] = [];
    const gate = Promise.withResolvers<boolean>();
    writeFileSync(path, `${'x'.repeat(900)}\n`.repeat(500));
    const following = follow({
      onBatch: (batch) => {
        batches.push(batch);
        return batches.length === 1 ? gate.promise : Promise.resolve(true);
      },
    });
    await waitFor('the first batch', () => batches.length === 1);
    expect(following.position()).toEqual(start);
    expect(batches[0]?.lines.length).toBeLessThan(500);
    gate.resolve(true);
    await waitFor('all lines', () => batches.flatMap((batch) => batch.lines).length === 500);
    expect(following.position()).toEqual({ segment: 1, offset: statSync(path).size });
  });

  test('ends for good when whoever takes lines has enough, and says where it stood', async () => {
    writeFileSync(path, 'one\n');
    const following = follow({ onBatch: () => Promise.resolve(false) });
    await following.close();
    follower = undefined;
    expect(following.position()).toEqual(start);
  });
});

describe('a rotated log', () => {
  test('a new run begins a segment of its own, private to its owner', async () => {
    expect(await beginRun(path, 'first run\n')).toBe(1);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    appendFileSync(path, 'torn');
    expect(await beginRun(path, 'second run\n')).toBe(2);
    expect(readFileSync(`${path}.1`, 'utf8')).toBe('first run\ntorn');
    expect(readFileSync(path, 'utf8')).toBe('second run\n');
  });

  test('a large file is renamed, the writer told, and no line lost, those written to the old one included', async () => {
    // as Envoy does: until it is told, and for a moment after, it writes to the file it has open, whatever its name
    let target = path;
    let reopened = 0;
    const reopen = (): Promise<void> => {
      reopened += 1;
      appendFileSync(`${path}.1`, 'late\n');
      target = path;
      return Promise.resolve();
    };
    writeFileSync(path, '');
    follow();
    rotate({ reopen });
    appendFileSync(target, 'first line\n');
    await waitFor('the rotation', () => reopened === 1);
    expect(readFileSync(`${path}.1`, 'utf8')).toBe('first line\nlate\n');
    appendFileSync(target, 'next\n');
    await linesToBe(['first line', 'late', 'next']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('a writer that could not be told is told again, and the old file is read meanwhile and to its end', async () => {
    let tries = 0;
    const reopen = (): Promise<void> => {
      tries += 1;
      if (tries === 1) appendFileSync(`${path}.1`, 'old\n');
      if (tries < 3) return Promise.reject(new Error('no answer'));
      // both at once: the first byte in the new file must not hide the last ones in the old
      appendFileSync(`${path}.1`, 'last old\n');
      appendFileSync(path, 'new\n');
      return Promise.resolve();
    };
    writeFileSync(path, '');
    follow();
    rotate({ segmentBytes: 5, reopen });
    appendFileSync(path, 'first\n');
    await linesToBe(['first', 'old', 'last old', 'new']);
    expect(happened.filter((what) => what === 'no answer')).toHaveLength(2);
  });

  test('a file that somebody took away is made anew, and the writer told', async () => {
    let reopened = 0;
    rotate({ reopen: () => Promise.resolve(void (reopened += 1)) });
    await waitFor('the writer to be told', () => reopened === 1);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('the oldest segments go when all of them are too large, never the growing one', async () => {
    for (const number of [1, 2, 3]) writeFileSync(`${path}.${number}`, `${'x'.repeat(99)}\n`);
    writeFileSync(path, `${'y'.repeat(99)}\n`);
    rotate({ segmentBytes: 1_000, keepBytes: 250, reading: () => 4 });
    await waitFor('the oldest two to go', async () => (await closedSegments(path)).join() === '3');
    expect(happened).toEqual([]);
    expect(statSync(path).size).toBe(100);
  });

  test('what has to go unread is counted, line by line; what is being read is not', async () => {
    for (const number of [1, 2, 3]) writeFileSync(`${path}.${number}`, 'a line\n'.repeat(10 * number));
    writeFileSync(path, 'growing\n');
    rotate({ segmentBytes: 1_000, keepBytes: 20, reading: () => 1 });
    await waitFor('all closed segments to go', async () => (await closedSegments(path)).length === 0);
    expect(happened).toEqual(['unread 20', 'unread 30']);
  });

  test('a reader that fell behind by several segments still gets every line', async () => {
    writeFileSync(path, '');
    const gate = Promise.withResolvers<undefined>();
    const following = follow({
      onBatch: async (batch) => {
        await gate.promise;
        lines.push(...batch.lines);
        return true;
      },
    });
    rotate({ keepBytes: 1_000_000 });
    const expected: string[] = [];
    for (let count = 1; count <= 5; count += 1) {
      const line = `line number ${count}`;
      expected.push(line);
      appendFileSync(path, `${line}\n`);
      await waitFor('the next rotation', async () => (await closedSegments(path)).length === count);
    }
    expect(lines).toEqual([]);
    gate.resolve(undefined);
    await linesToBe(expected);
    expect(following.position().segment).toBeGreaterThanOrEqual(5);
  });

  test('a writer that ended and comes back begins a segment of its own, whose first line says so', async () => {
    writeFileSync(path, 'torn');
    follow();
    let reopened = 0;
    rotate({ segmentBytes: 1_000, reopen: () => Promise.reject(new Error(`not there ${(reopened += 1)}`)) });
    await rotation?.beginRun('run\n');
    appendFileSync(path, 'next\n');
    await linesToBe(['run', 'next']);
    // the writer is told once, in case that it is back already; one that is not there is no failure
    expect(happened).toEqual(['cut']);
    expect(reopened).toBe(1);
  });

  test('a segment before the first has nothing', async () => {
    writeFileSync(path, 'one\n');
    await readSegment({ path, number: 0, maxLineBytes: 100, onLine: (line) => void lines.push(line) });
    expect(lines).toEqual([]);
  });

  test('a segment can be read up to a place in it', async () => {
    writeFileSync(`${path}.3`, 'one\ntwo\nthree\n');
    const onLine = (line: string): void => void lines.push(line);
    await readSegment({ path, number: 3, untilOffset: 8, maxLineBytes: 100, onLine });
    await readSegment({ path, number: 7, maxLineBytes: 100, onLine });
    expect(lines).toEqual(['one', 'two']);
  });
});
