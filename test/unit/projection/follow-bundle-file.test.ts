// A bundle in a file is followed however the file is written: a change is seen whole or not at all, and what is no file
// neither hangs the process nor fills it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import type { Backing, BackingState } from '../../../src/projection/backing.ts';
import { followBundleFile } from '../../../src/projection/follow-bundle-file.ts';
import { maxBackingBytes } from '../../../src/projection/sanitise-bundle.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { mountedVolume } from '../../support/mounted-volume.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

let folder: TempFolder;
let backing: Backing | undefined;
let changes = 0;
beforeEach(() => {
  folder = createTempFolder();
  changes = 0;
});
afterEach(async () => {
  await backing?.close();
  folder.remove();
});

function follow(path: string): void {
  backing = followBundleFile({ path, clock: systemClock, changed: () => (changes += 1) });
}

function stateText(): string {
  const state: BackingState = backing?.state() ?? { kind: 'pending' };
  if (state.kind === 'failed') return `${state.cause}: ${state.error.message}`;
  if (state.kind !== 'texts') return state.kind;
  return state.texts.map(({ text }) => Buffer.from(text).toString()).join();
}

const seen = (text: string): Promise<unknown> =>
  waitFor(`"${text}", not ${stateText()}`, () => stateText().includes(text));

describe('a bundle in a file', () => {
  it('is followed when it is replaced by a rename, and when it goes and comes', async () => {
    const path = folder.file('ca.pem');
    writeFileSync(path, 'one');
    follow(path);
    expect(stateText()).toBe('pending');
    await seen('one');
    writeFileSync(folder.file('draft'), 'two');
    renameSync(folder.file('draft'), path);
    await seen('two');
    rmSync(path);
    await seen(`missing-object: there is no file ${path}`);
    writeFileSync(path, 'three');
    await seen('three');
    expect(changes).toBe(4);
  });

  it("is followed in a kubelet's volume, whose link is swapped", async () => {
    const volume = mountedVolume(folder.file('volume'));
    volume.update({ 'ca.pem': 'one' });
    follow(folder.file('volume/ca.pem'));
    await seen('one');
    volume.update({ 'ca.pem': 'two' });
    await seen('two');
    volume.update({ other: 'x' });
    await seen('missing-object');
    volume.update({ 'ca.pem': 'three' });
    await seen('three');
  });

  it('is found when its folder appears later', async () => {
    follow(folder.file('a/b/ca.pem'));
    await seen('missing-object');
    mkdirSync(folder.file('a/b'), { recursive: true });
    writeFileSync(folder.file('a/b/ca.pem'), 'one');
    await seen('one');
    rmSync(folder.file('a'), { recursive: true });
    await seen('missing-object');
    writeFileSync(folder.file('a'), 'a file where a folder was');
    mkdirSync(folder.file('c'));
    rmSync(folder.file('a'));
    symlinkSync('c', folder.file('a'));
    mkdirSync(folder.file('c/b'));
    writeFileSync(folder.file('c/b/ca.pem'), 'two');
    await seen('two');
  });

  it('is told when it is truncated, since what stood there is gone', async () => {
    const path = folder.file('ca.pem');
    writeFileSync(path, 'one');
    follow(path);
    await seen('one');
    truncateSync(path, 0);
    await waitFor('nothing in it', () => stateText() === '');
  });

  it('may have its greatest size and not a byte more', async () => {
    const path = folder.file('ca.pem');
    writeFileSync(path, Buffer.alloc(maxBackingBytes, '#'));
    follow(path);
    await seen('####');
    writeFileSync(path, Buffer.alloc(maxBackingBytes + 1, '#'));
    await seen(`too-large: ${path} has more than 1048576 bytes`);
    truncateSync(path, 1024 * 1024 * 1024 * 1024);
    await seen('too-large');
  });

  test.each<[string, (path: string) => void, string]>([
    ['a folder', (path) => mkdirSync(path), 'it is a folder'],
    ['a FIFO', (path) => void execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', path]), 'it is no regular file'],
    ['a link to itself', (path) => symlinkSync(path, path), 'too many symbolic links'],
    ['a device', (path) => symlinkSync('/dev/zero', path), 'it is no regular file'],
  ])('is unavailable while %s stands there', async (_, make, reason) => {
    const path = folder.file('ca.pem');
    make(path);
    follow(path);
    await seen(`unavailable: ${path} cannot be read: ${reason}`);
    rmSync(path, { recursive: true });
    writeFileSync(path, 'one');
    await seen('one');
  });

  it('is not taken while it is being written', async () => {
    const path = folder.file('ca.pem');
    const clock = createFakeClock();
    writeFileSync(path, 'one');
    const looks: string[] = [];
    backing = followBundleFile({ path, clock, changed: () => looks.push(stateText()) });
    const nextLook = async (): Promise<void> => {
      await waitFor('the end of a look', () => clock.pendingTimers() === 1);
      clock.advanceToNext();
    };
    await nextLook();
    await waitFor('the first sight', () => looks.length === 1);
    for (const half of ['t', 'tw', 'two', 'two ']) {
      writeFileSync(path, half);
      await nextLook();
    }
    writeFileSync(path, 'two halves');
    await nextLook();
    await nextLook();
    await nextLook();
    await waitFor('the whole', () => looks.length === 2);
    expect(looks).toEqual(['one', 'two halves']);
  });

  it('is left alone after it was closed', async () => {
    const path = folder.file('ca.pem');
    writeFileSync(path, 'one');
    const clock = createFakeClock();
    backing = followBundleFile({ path, clock, changed: () => (changes += 1) });
    await backing.close();
    expect(clock.pendingTimers()).toBe(0);
    expect(changes).toBe(0);
  });
});
