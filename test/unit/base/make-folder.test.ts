import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeFolder } from '../../../src/make-folder.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

describe('makeFolder', () => {
  let folder: TempFolder;
  beforeEach(() => (folder = createTempFolder()));
  afterEach(() => folder.remove());
  const mode = (path: string): number => statSync(path).mode & 0o777;

  test('makes every folder that is missing, each with the mode', () => {
    makeFolder(folder.file('a/b/c'), 0o700);
    expect([mode(folder.file('a')), mode(folder.file('a/b/c'))]).toEqual([0o700, 0o700]);
  });

  test('leaves a folder that exists as it is, also behind a symbolic link', () => {
    mkdirSync(folder.file('real'));
    chmodSync(folder.file('real'), 0o755);
    symlinkSync('real', folder.file('link'));
    makeFolder(folder.file('link'), 0o700);
    expect(mode(folder.file('real'))).toBe(0o755);
  });

  // filed as "hangs inside Node's recursive mkdir", which tries the same folder again for ever
  test.skipIf(process.platform !== 'linux')('says at once that nothing can be made under /proc', () => {
    expect(() => makeFolder('/proc/leafgate-test/state')).toThrow(
      'the folder /proc/leafgate-test cannot be made: no folder can be made there',
    );
  });

  test.each([
    ['file', 'a file has that name'],
    ['file/below', 'file cannot be made: a file has that name'],
    ['dangling', 'it exists already'],
    [`${'n'.repeat(300)}/x`, 'the name is too long'],
  ])('names the folder and the reason where it cannot: %s', (name, reason) => {
    writeFileSync(folder.file('file'), '');
    symlinkSync('nowhere', folder.file('dangling'));
    expect(() => makeFolder(folder.file(name))).toThrow(reason);
  });
});
