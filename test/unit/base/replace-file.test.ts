import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { replaceFile } from '../../../src/replace-file.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

describe('replaceFile', () => {
  let folder: TempFolder;
  let path: string;
  beforeEach(() => {
    folder = createTempFolder();
    path = folder.file('file');
  });
  afterEach(() => folder.remove());

  test('writes a new file with the mode that was asked for', async () => {
    await replaceFile(path, 'text', 0o600);
    expect(readFileSync(path, 'utf8')).toBe('text');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('takes the place of the old file in one step: whoever has that open goes on reading it', async () => {
    writeFileSync(path, 'old');
    chmodSync(path, 0o644);
    const before = statSync(path).ino;
    await replaceFile(path, 'new', 0o600);
    expect(statSync(path)).toMatchObject({ mode: 0o100600 });
    expect(statSync(path).ino).not.toBe(before);
    expect(readdirSync(folder.path)).toEqual(['file']);
  });

  test('leaves the old one and no draft when it fails', async () => {
    mkdirSync(path);
    await expect(replaceFile(path, 'text', 0o600)).rejects.toMatchObject({ code: 'EISDIR' });
    expect(readdirSync(folder.path)).toEqual(['file']);
    await expect(replaceFile(folder.file('none/file'), 'text', 0o600)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('of many writers at once leaves one whole text', async () => {
    const texts = Array.from({ length: 20 }, (_, index) => String(index).repeat(10_000));
    await Promise.all(texts.map((text) => replaceFile(path, text, 0o600)));
    expect(texts).toContain(readFileSync(path, 'utf8'));
    expect(readdirSync(folder.path)).toEqual(['file']);
  });
});
