import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { setTimeout as later } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { followActors } from '../../../src/projection/follow-actors.ts';
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
  mkdirSync(folder.file('actors'));
  // files are younger than this by far: none is taken for one that is still being written
  clock = createFakeClock(Date.now() + 60_000);
  told = [];
});
afterEach(() => {
  follower.close();
  folder.remove();
});

const at = (name: string): string => folder.file(`actors/${name}`);
const write = (name: string, text: string): void => writeFileSync(at(name), text);

async function start(maxActors = 100): Promise<void> {
  follower = followActors({
    ...{ folder: folder.file('actors'), maxFileBytes: 100, maxActors, clock },
    events: {
      fileRead: (actor, content) => {
        const text = content.kind === 'bytes' ? Buffer.from(content.bytes).toString() : content.kind;
        told.push(`${actor}: ${text}`);
      },
      fileGone: (actor) => told.push(`${actor} gone`),
      fileRefused: (name) => told.push(`${name} refused`),
      folderUnreadable: () => told.push('unreadable'),
      folderReadable: () => told.push('readable'),
      firstLookDone: () => told.push('first'),
    },
  });
  await waitFor('the first look', () => clock.pendingTimers() === 1);
}

/** one look, and the next one has been set */
async function look(): Promise<void> {
  clock.advanceToNext();
  await waitFor('a look', () => clock.pendingTimers() === 1);
}

/** two looks of each kind, and what they saw */
async function seen(): Promise<readonly string[]> {
  for (let count = 0; count < 8; count += 1) await look();
  return told.splice(0);
}

test('what is there at the start is told before anything else, then what comes, changes and goes', async () => {
  write('a.yaml', 'A');
  write('b.yaml', 'B');
  await start();
  expect(told.at(-1)).toBe('first');
  expect(told.splice(0).toSorted()).toEqual(['a: A', 'b: B', 'first']);
  write('c.yaml', 'C');
  expect(await seen()).toEqual(['c: C']);
  write('a.yaml', 'AA');
  expect(await seen()).toEqual(['a: AA']);
  rmSync(at('b.yaml'));
  expect(await seen()).toEqual(['b gone']);
  expect(await seen()).toEqual([]);
});

test('a change shows within a second and a half, whichever way it is made', async () => {
  write('a.yaml', 'A');
  write('b.yaml', 'B');
  await start();
  told.length = 0;
  const began = clock.monotonic();
  write('b.new', 'BB');
  renameSync(at('b.new'), at('b.yaml'));
  truncateSync(at('a.yaml'), 0);
  while (!(told.includes('a: ') && told.includes('b: BB'))) await look();
  expect(clock.monotonic() - began).toBeLessThanOrEqual(1500);
});

test('a file that is being written counts once two looks agree', async () => {
  await start();
  told.length = 0;
  for (const part of ['a', 'ab', 'abc']) {
    write('a.yaml', part);
    await look();
    expect(told).toEqual([]);
  }
  expect(await seen()).toEqual(['a: abc']);
});

test('a file that was young at the start is read again, and the same content is told once', async () => {
  clock = createFakeClock(Date.now());
  write('a.yaml', 'A');
  await start();
  expect(told.splice(0)).toEqual(['a: A', 'first']);
  write('a.yaml', 'B');
  expect(await seen()).toEqual(['a: B']);
});

test('the same content again is no change', async () => {
  write('a.yaml', 'A');
  await start();
  told.length = 0;
  await later(5);
  write('a.yaml', 'A');
  expect(await seen()).toEqual([]);
});

test('a swap of ..data, as a kubelet makes it, is seen', async () => {
  rmSync(folder.file('actors'), { recursive: true });
  const volume = mountedVolume(folder.file('actors'));
  volume.update({ 'a.yaml': 'A', 'b.yaml': 'B' });
  await start();
  told.length = 0;
  volume.update({ 'a.yaml': 'AA', 'c.yaml': 'C' });
  expect((await seen()).toSorted()).toEqual(['a: AA', 'b gone', 'c: C']);
});

test('what cannot be read is told in place of a content: a folder, a link to nothing or to itself, a file that is too large', async () => {
  mkdirSync(at('a.yaml'));
  symlinkSync('nothing', at('b.yaml'));
  write('c.yaml', 'x'.repeat(101));
  symlinkSync('d.yaml', at('d.yaml'));
  await start();
  expect(told.splice(0).toSorted()).toEqual([
    ...['a: unreadable', 'b: unreadable', 'c: too-large', 'd: unreadable'],
    'first',
  ]);
  expect(await seen()).toEqual([]);
});

test('a file with another kind of name is refused once, drafts are passed over in silence', async () => {
  write('a.yml', 'A');
  write('.a.yaml.swp', 'A');
  write('a b.yaml', 'A');
  await start();
  expect(told.splice(0).toSorted()).toEqual(['a b.yaml refused', 'a.yml refused', 'first']);
  expect(await seen()).toEqual([]);
  rmSync(at('a.yml'));
  await seen();
  write('a.yml', 'A');
  expect(await seen()).toEqual(['a.yml refused']);
});

test('no more actors are followed than may be, and those that are followed stay', async () => {
  write('a.yaml', 'A');
  write('b.yaml', 'B');
  await start(2);
  told.length = 0;
  write('c.yaml', 'C');
  expect(await seen()).toEqual(['c.yaml refused']);
  rmSync(at('a.yaml'));
  expect(await seen()).toEqual(['a gone', 'c: C']);
});

test('a folder that is away changes nothing, and is followed when it is back', async () => {
  write('a.yaml', 'A');
  await start();
  told.length = 0;
  renameSync(folder.file('actors'), folder.file('away'));
  expect(await seen()).toEqual(['unreadable']);
  renameSync(folder.file('away'), folder.file('actors'));
  write('b.yaml', 'B');
  expect(await seen()).toEqual(['readable', 'b: B']);
});

test('a file that comes back at once was never gone', async () => {
  write('a.yaml', 'A');
  await start();
  told.length = 0;
  rmSync(at('a.yaml'));
  await look();
  write('a.yaml', 'A');
  expect(await seen()).toEqual([]);
});

test('several thousand files are told of, and a look at them tells of the one that changed', async () => {
  for (let count = 0; count < 3000; count += 1) write(`a${count}.yaml`, 'A');
  await start(10_000);
  expect(told).toHaveLength(3001);
  told.length = 0;
  write('a77.yaml', 'B');
  expect(await seen()).toEqual(['a77: B']);
  expect(readdirSync(folder.file('actors'))).toHaveLength(3000);
});
