// Files of a root file system that an actor fills are read as the actor sees them, and nothing that it puts there makes us
// read what lies outside of it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { listFolderInside, readFileInside } from '../../../src/projection/read-inside.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

let folder: TempFolder;
let root: string;
beforeEach(() => {
  folder = createTempFolder();
  root = folder.file('root');
  mkdirSync(join(root, 'etc/ssl'), { recursive: true });
  writeFileSync(folder.file('secret'), 'outside');
  writeFileSync(join(root, 'etc/ssl/ca.pem'), 'inside');
});
afterEach(() => folder.remove());

async function textOf(path: string): Promise<string> {
  const content = await readFileInside(root, path, 100);
  if (content.kind === 'bytes') return Buffer.from(content.bytes).toString();
  return content.kind === 'unreadable' ? content.reason : content.kind;
}

const link = (target: string, at: string): void => symlinkSync(target, join(root, at));

function makeHuge(path: string): void {
  writeFileSync(path, '');
  truncateSync(path, 2 ** 40);
}

function makeTwoLinks(): void {
  link('one', 'etc/two');
  link('ssl/ca.pem', 'etc/one');
}

describe.skipIf(process.platform !== 'linux')('a file inside a root file system', () => {
  test.each<[string, () => void]>([
    ['itself', () => undefined],
    ['a relative link', () => link('ssl/ca.pem', 'etc/ca.pem')],
    ['an absolute link, which begins at the root of the tree', () => link('/etc/ssl/ca.pem', 'etc/ca.pem')],
    ['a link to a folder', () => link('/etc', 'folder')],
    ['a link that climbs above the root', () => link('../../../../../etc/ssl/ca.pem', 'etc/ca.pem')],
    ['a link to a link', makeTwoLinks],
  ])('is found by %s', async (_, prepare) => {
    prepare();
    const ways = ['/etc/ca.pem', '/folder/ssl/ca.pem', '/etc/two', '/etc/ssl/ca.pem', '/../etc/./ssl/../ssl/ca.pem'];
    const texts = await Promise.all(ways.map(textOf));
    expect(texts.filter((text) => text !== 'no such file or folder')).toContain('inside');
    expect(texts).not.toContain('outside');
  });

  test.each<[string, (outside: string) => void]>([
    ['an absolute link', (outside) => link(outside, 'etc/x')],
    ['a relative link', () => link('../../secret', 'etc/x')],
    ['a link to the folder above', () => link('../..', 'etc/up')],
    ['a link into /proc', () => link('/proc/self/root', 'etc/up')],
  ])('is never one outside of it, by %s', async (_, prepare) => {
    prepare(realpathSync(folder.file('secret')));
    for (const path of ['/etc/x', '/etc/up/secret', '/../secret', `/etc/up${folder.file('secret')}`]) {
      expect(await textOf(path)).toMatch(/no such file|no folder/);
    }
  });

  test.each<[string, (path: string) => void, string]>([
    ['a folder', (path) => mkdirSync(path), 'it is no regular file'],
    ['a FIFO', (path) => void execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', path]), 'it is no regular file'],
    ['a link to itself', (path) => symlinkSync('x', path), 'too many symbolic links'],
    ['a file of a tebibyte', makeHuge, 'too-large'],
    ['a file of a byte too many', (path) => writeFileSync(path, 'x'.repeat(101)), 'too-large'],
    ['a file of the greatest size', (path) => writeFileSync(path, 'x'.repeat(100)), 'x'.repeat(100)],
    ['a dangling link', (path) => symlinkSync('nothing', path), 'no such file or folder'],
    ['a link of hundreds of parts', (path) => symlinkSync('../etc/'.repeat(300), path), 'the way there is too long'],
  ])('is read in bounds when it is %s', async (_, make, expected) => {
    make(join(root, 'etc/x'));
    expect(await textOf('/etc/x')).toBe(expected);
  });

  it('leaves no descriptor open', async () => {
    const open = async (): Promise<number> => (await listFolderInside('/', '/proc/self/fd', 1000)).length;
    link('loop', 'loop');
    const before = await open();
    for (let index = 0; index < 20; index += 1) {
      await Promise.all([textOf('/etc/ssl/ca.pem'), textOf('/loop'), textOf('/etc/ssl'), textOf('/none')]);
    }
    expect(await open()).toBeLessThanOrEqual(before + 2);
  });

  it('is listed by its folder, so many names at most', async () => {
    for (const name of ['c', 'a', 'b']) writeFileSync(join(root, 'etc/ssl', name), '');
    expect(await listFolderInside(root, '/etc/ssl', 10)).toEqual(['a', 'b', 'c', 'ca.pem']);
    expect(await listFolderInside(root, '/etc/ssl', 2)).toHaveLength(2);
    expect(await listFolderInside(root, '/etc/ssl/ca.pem', 10)).toEqual([]);
    expect(await listFolderInside(root, '/none', 10)).toEqual([]);
  });
});
