import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { followTextFile } from '../../../src/projection/follow-text-file.ts';
import { readRegularFile } from '../../../src/read-regular-file.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { mountedVolume } from '../../support/mounted-volume.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

let folder: TempFolder;
let clock: FakeClock;
let told: string[];
let follower: { close(): void };
beforeEach(() => {
  folder = createTempFolder();
  clock = createFakeClock();
  told = [];
});
afterEach(() => {
  follower.close();
  folder.remove();
});

async function follow(path: string): Promise<void> {
  follower = followTextFile({
    ...{ path, maxBytes: 100, clock, known: await readRegularFile(path, 100) },
    changed: (content) => told.push(content.kind === 'bytes' ? Buffer.from(content.bytes).toString() : content.kind),
  });
}

async function look(): Promise<void> {
  clock.advanceToNext();
  await waitFor('a look', () => clock.pendingTimers() === 1);
}

async function seen(): Promise<readonly string[]> {
  for (let count = 0; count < 4; count += 1) await look();
  return told.splice(0);
}

test('another content is told once, however it came to be, and what was known is no news', async () => {
  const path = folder.file('file');
  writeFileSync(path, 'one');
  await follow(path);
  expect(await seen()).toEqual([]);
  writeFileSync(path, 'two');
  expect(await seen()).toEqual(['two']);
  writeFileSync(`${path}.new`, 'three');
  renameSync(`${path}.new`, path);
  expect(await seen()).toEqual(['three']);
});

test('a file that is being written counts once two looks agree', async () => {
  const path = folder.file('file');
  writeFileSync(path, 'one');
  await follow(path);
  for (const part of ['t', 'tw', 'two']) {
    writeFileSync(path, part);
    await look();
    expect(told).toEqual([]);
  }
  expect(await seen()).toEqual(['two']);
});

test('a file that is away for the moment of a swap was never away; one that stays away is told', async () => {
  const path = folder.file('file');
  writeFileSync(path, 'one');
  await follow(path);
  rmSync(path);
  await look();
  writeFileSync(path, 'one');
  expect(await seen()).toEqual([]);
  rmSync(path);
  expect(await seen()).toEqual(['unreadable']);
  writeFileSync(path, 'x'.repeat(101));
  expect(await seen()).toEqual(['too-large']);
  writeFileSync(path, 'one');
  expect(await seen()).toEqual(['one']);
});

test('a swap of ..data is seen within half a second', async () => {
  const volume = mountedVolume(folder.file('mounted'));
  volume.update({ file: 'one' });
  await follow(folder.file('mounted/file'));
  const began = clock.monotonic();
  volume.update({ file: 'two' });
  while (told.length === 0) await look();
  expect([told, clock.monotonic() - began <= 500]).toEqual([['two'], true]);
});
