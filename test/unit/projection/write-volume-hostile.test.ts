// An actor may own the folder that its trust is written into: what it can put there must lead nowhere.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WriteStep } from '../../../src/projection/place-file.ts';
import { openVolumeWriter, type VolumeWriter, type WantedFile } from '../../../src/projection/write-volume.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { bundleOf, draftName, everythingIn } from '../../support/volume-samples.ts';

let folder: TempFolder;
let dir: string;
let outside: string;
beforeEach(() => {
  folder = createTempFolder();
  dir = folder.file('volume');
  outside = folder.file('outside');
  mkdirSync(dir);
  mkdirSync(outside);
  writeFileSync(join(outside, 'ca.pem'), 'precious');
  writeFileSync(join(outside, draftName), 'precious');
});
afterEach(() => {
  // whatever was tried
  expect(everythingIn(outside)).toEqual([draftName, 'ca.pem'].sort());
  expect(readFileSync(join(outside, 'ca.pem'), 'utf8')).toBe('precious');
  folder.remove();
});

const writer = (afterStep?: (step: WriteStep) => void): VolumeWriter =>
  openVolumeWriter({ dir, ...(afterStep === undefined ? {} : { afterStep }) });
const file = (path: string, content = 1): WantedFile => ({ path, pemBundle: bundleOf(content), form: 'PEM' });

describe('where an actor put', () => {
  test.each<[string, string, (path: string) => void]>([
    ['a link to a file', 'a symbolic link', (path) => symlinkSync(join(outside, 'ca.pem'), path)],
    ['a link to nothing', 'a symbolic link', (path) => symlinkSync(join(outside, 'new.pem'), path)],
    ['a link to itself', 'a symbolic link', (path) => symlinkSync(path, path)],
    ['a folder', 'a folder', (path) => mkdirSync(path)],
    ['a named pipe', 'a named pipe', (path) => execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', path])],
  ])('%s in the place of a file, it is refused by name and left there', async (_, found, plant) => {
    const path = join(dir, 'ca.pem');
    plant(path);
    const before = lstatSync(path);
    const [bad, good] = await writer().write([file('ca.pem'), file('other.pem')]);
    expect(bad).toMatchObject({ kind: 'failed', error: { code: 'volume-entry-unsafe', fields: { path, found } } });
    expect(good).toMatchObject({ kind: 'written' });
    expect(lstatSync(path).ino).toBe(before.ino);
    await writer().remove();
    expect(lstatSync(path).ino).toBe(before.ino);
  });

  test.each<[string, string, (path: string) => void]>([
    ['a link to a folder', 'a symbolic link', (path) => symlinkSync(outside, path)],
    ['a file', 'a file', (path) => writeFileSync(path, '')],
    ['a named pipe', 'a named pipe', (path) => execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', path])],
  ])('%s in the place of a folder, it is refused by name', async (_, found, plant) => {
    const path = join(dir, 'certs');
    plant(path);
    const error = { code: 'volume-entry-unsafe', fields: { path, found } };
    expect(await writer().write([file('certs/ca.pem')])).toMatchObject([{ kind: 'failed', error }]);
    expect(await writer().write([file('certs/deep/ca.pem')])).toMatchObject([{ kind: 'failed', error }]);
  });

  test('a link in the place of a folder that was written into, nothing is swept or removed behind it', async () => {
    await writer().write([file('certs/ca.pem')]);
    renameSync(join(dir, 'certs'), join(dir, 'moved'));
    symlinkSync(outside, join(dir, 'certs'));
    expect(await writer().sweep()).toBe(0);
    expect(await writer().removeOthers([])).toEqual([]);
    expect(await writer().removeOthers([])).toEqual([]);
    await writer().remove();
    expect(existsSync(join(dir, 'moved', 'ca.pem'))).toBe(true);
  });

  test('a second name of a file of somebody else, that file is not written into', async () => {
    linkSync(join(outside, 'ca.pem'), join(dir, 'ca.pem'));
    expect(await writer().write([file('ca.pem')])).toMatchObject([{ kind: 'written' }]);
    expect(readFileSync(join(dir, 'ca.pem'), 'utf8')).toBe(bundleOf(1));
  });

  test('drafts that are links and folders, they are taken away and not followed', async () => {
    const drafts = [1, 2, 3].map((digit) => `.${String(digit).repeat(32)}.leafgate-new`);
    const [link = '', deep = '', linkInside = ''] = drafts.map((name) => join(dir, name));
    symlinkSync(outside, link);
    mkdirSync(join(deep, 'inner'), { recursive: true });
    mkdirSync(linkInside);
    symlinkSync(outside, join(linkInside, 'out'));
    expect(await writer().sweep()).toBe(2);
    // what holds a folder was not made by leafgate
    expect(everythingIn(dir)).toEqual([`${basename(deep)}/`, `${basename(deep)}/inner/`]);
  });
});

describe('a manifest that an actor wrote', () => {
  test.each(['../outside/ca.pem', '/etc/hostname', 'a/../../outside/ca.pem', '', '.', 'link/ca.pem'])(
    'leads to nothing outside (%j)',
    async (path) => {
      symlinkSync(outside, join(dir, 'link'));
      const lie = { version: 1, madeFolder: true, entries: [{ path, kind: 'file' }], folders: ['link', '..', path] };
      writeFileSync(join(dir, '.leafgate-volume'), JSON.stringify(lie));
      await writer().write([file('ca.pem')]);
      await writer().remove();
      expect(readdirSync(dir)).toEqual(['link']);
      expect(existsSync('/etc/hostname')).toBe(true);
    },
  );

  test.each<[string, (path: string) => void]>([
    ['no JSON', (path) => writeFileSync(path, '{')],
    ['another JSON', (path) => writeFileSync(path, '[{"version":1}]')],
    ['odd parts', (path) => writeFileSync(path, '{"version":1,"entries":[1,{"path":1,"kind":"file"}],"folders":{}}')],
    ['another version', (path) => writeFileSync(path, '{"version":2,"entries":[{"path":"theirs","kind":"file"}]}')],
    ['too much', (path) => writeFileSync(path, Buffer.alloc(1024 * 1024, '['))],
  ])('counts for nothing when it is %s, and is replaced', async (_, plant) => {
    writeFileSync(join(dir, 'theirs'), '');
    plant(join(dir, '.leafgate-volume'));
    expect(await writer().removeOthers([])).toEqual([]);
    expect(await writer().write([file('ca.pem')])).toMatchObject([{ kind: 'written' }]);
    await writer().remove();
    expect(everythingIn(dir)).toEqual(['theirs']);
  });

  test.each<[string, (path: string) => void]>([
    ['a link', (path) => symlinkSync(join(outside, 'ca.pem'), path)],
    ['a named pipe', (path) => execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', path])],
  ])('is refused by name when it is %s: what is written could not be known again', async (_, plant) => {
    const path = join(dir, '.leafgate-volume');
    plant(path);
    expect(await writer().write([file('ca.pem')])).toMatchObject([
      { kind: 'failed', error: { code: 'volume-entry-unsafe', fields: { path } } },
    ]);
    expect(everythingIn(dir)).toEqual(['.leafgate-volume']);
  });
});

test.each<WriteStep>(['draft-opened', 'draft-written', 'draft-closed'])(
  'a folder that becomes a link while a file is written into it (%s) changes nothing outside',
  async (when) => {
    await writer().write([file('certs/ca.pem')]);
    const swap = (step: WriteStep): void => {
      if (step !== when || existsSync(join(dir, 'moved'))) return;
      renameSync(join(dir, 'certs'), join(dir, 'moved'));
      symlinkSync(outside, join(dir, 'certs'));
    };
    await writer(swap).write([file('certs/ca.pem', 2)]);
    expect(readFileSync(join(dir, 'moved', 'ca.pem'), 'utf8')).toBe(bundleOf(2));
    expect(readdirSync(join(dir, 'moved'))).toEqual(['ca.pem']);
  },
);

test('a draft that becomes a link before it is put into place is told, and nothing is written through it', async () => {
  const swap = (step: WriteStep): void => {
    const draft = readdirSync(dir).find((name) => name.endsWith('.leafgate-new'));
    if (step !== 'draft-closed' || draft === undefined || !existsSync(join(dir, '.leafgate-volume'))) return;
    rmSync(join(dir, draft));
    symlinkSync(join(outside, 'ca.pem'), join(dir, draft));
  };
  expect(await writer(swap).write([file('ca.pem')])).toMatchObject([
    { kind: 'failed', error: { code: 'volume-entry-unsafe' } },
  ]);
});
