import { appendFileSync, existsSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { millis, systemClock } from '../../../src/clock.ts';
import { followFile, type FileFollower, type FollowFileOptions } from '../../../src/observe/follow-file.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('a followed file', () => {
  let folder: TempFolder;
  let path: string;
  let follower: FileFollower | undefined;
  let lines: string[];
  let happened: string[];

  beforeEach(() => {
    folder = createTempFolder();
    path = folder.file('access.json');
    lines = [];
    happened = [];
  });
  afterEach(async () => {
    await follower?.close();
    follower = undefined;
    folder.remove();
  });

  const follow = async (options: Partial<FollowFileOptions> = {}): Promise<FileFollower> => {
    follower = await followFile({
      path,
      clock: systemClock,
      pollMs: millis(2),
      maxLineBytes: 1_000,
      rotateAtBytes: 1_000_000,
      reopen: () => Promise.resolve(),
      onLine: (line) => void lines.push(line),
      events: {
        lineTooLong: () => void happened.push('too long'),
        truncated: () => void happened.push('truncated'),
        failed: (error) => void happened.push(error instanceof Error ? error.message : 'failed'),
      },
      ...options,
    });
    return follower;
  };
  const linesToBe = (expected: readonly string[]) =>
    waitFor(`lines ${expected.join(' ')}`, () => lines.length >= expected.length).then(() =>
      expect(lines).toEqual(expected),
    );

  test('gives what was there before and what comes after, each line once', async () => {
    writeFileSync(path, 'one\ntwo\n');
    await follow();
    await linesToBe(['one', 'two']);
    appendFileSync(path, 'three\n');
    await linesToBe(['one', 'two', 'three']);
  });

  test('is made, private to its owner, when it is missing', async () => {
    await follow();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('a line is given when it is whole, not before', async () => {
    const following = await follow();
    appendFileSync(path, 'whole\nhalf');
    await linesToBe(['whole']);
    appendFileSync(path, ' and half\nnever ended');
    await linesToBe(['whole', 'half and half']);
    await following.close();
    follower = undefined;
    expect(lines).toEqual(['whole', 'half and half']);
  });

  test('a line above the limit is left out and counted, the next one is given', async () => {
    await follow();
    appendFileSync(path, `${'x'.repeat(1_001)}\n${'y'.repeat(1_000)}\n`);
    await linesToBe(['y'.repeat(1_000)]);
    expect(happened).toEqual(['too long']);
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
    await follow({ rotateAtBytes: 10, reopen });
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
    await follow({ rotateAtBytes: 5, reopen });
    appendFileSync(path, 'first\n');
    await linesToBe(['first', 'old', 'last old', 'new']);
    expect(happened.filter((what) => what === 'no answer')).toHaveLength(2);
  });

  test('a rotation by somebody else is followed', async () => {
    await follow();
    appendFileSync(path, 'one\n');
    renameSync(path, `${path}.old`);
    appendFileSync(`${path}.old`, 'two\n');
    writeFileSync(path, 'three\n');
    await linesToBe(['one', 'two', 'three']);
  });

  test('a truncated file is read from its new start, and said', async () => {
    await follow();
    appendFileSync(path, 'one\ntwo\n');
    await linesToBe(['one', 'two']);
    truncateSync(path, 0);
    await waitFor('the truncation to be seen', () => happened.includes('truncated'));
    appendFileSync(path, 'three\n');
    await linesToBe(['one', 'two', 'three']);
  });

  test('closing gives what was written last', async () => {
    const following = await follow({ pollMs: millis(60_000) });
    await waitFor('the first look', () => existsSync(path));
    appendFileSync(path, 'last\n');
    await following.close();
    follower = undefined;
    expect(lines).toEqual(['last']);
  });
});
