import { readFileSync, mkdirSync, readdirSync, rmdirSync, writeFileSync, linkSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LeafgateError } from '../../../src/errors.ts';
import { innerSystemCode, systemCode, systemReason } from '../../../src/system-error.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

const withCode = (code: string, errno?: number): Error =>
  Object.assign(new Error(`${code}: raw words, open '/x'`), { code, ...(errno === undefined ? {} : { errno }) });

describe('a system error in words', () => {
  let folder: TempFolder;
  beforeEach(() => (folder = createTempFolder()));
  afterEach(() => folder.remove());

  const thrownBy = (act: () => unknown): unknown => {
    try {
      act();
    } catch (thrown) {
      return thrown;
    }
    throw new Error('nothing was thrown');
  };

  test.each<[string, () => unknown, string]>([
    ['a file that is not there', () => readFileSync(folder.file('none')), 'no such file or folder'],
    ['a folder read as a file', () => readFileSync(folder.path), 'it is a folder'],
    ['a file in the place of a folder', () => readdirSync(folder.file('file/x')), 'a part of the path is no folder'],
    ['a folder that is not empty', () => rmdirSync(folder.path), 'the folder is not empty'],
    ['a name that is taken', () => linkSync(folder.file('file'), folder.file('file')), 'it exists already'],
    ['a name that is too long', () => mkdirSync(folder.file('n'.repeat(300))), 'the name is too long'],
  ])('as the system raises it: %s', (_, act, expected) => {
    writeFileSync(folder.file('file'), '');
    expect(systemReason(thrownBy(act))).toBe(expected);
  });

  test.each([
    ['EACCES', 'permission denied'],
    ['EPERM', 'the system does not permit it'],
    ['EROFS', 'the file system is read-only'],
    ['ENOSPC', 'the disk is full'],
    ['EDQUOT', 'the disk quota is used up'],
    ['EIO', 'the disk failed'],
    ['EMFILE', 'this process has too many files open'],
    ['ELOOP', 'too many symbolic links'],
    ['ETXTBSY', 'another process has it open for writing'],
    ['EADDRNOTAVAIL', 'this machine has no such address'],
    ['ECONNREFUSED', 'nobody listens there'],
  ])('%s is "%s"', (code, expected) => {
    expect(systemReason(withCode(code))).toBe(expected);
  });

  test('of a listener says that the place is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const second = createServer();
    const error = await new Promise((done) => second.once('error', done).listen(port, '127.0.0.1'));
    expect(systemReason(error)).toBe('another process already listens there');
    await new Promise((done) => server.close(done));
  });

  test("that the table leaves out has the system's own words, never a bare code", () => {
    expect(systemReason(withCode('ESPIPE', -29))).toBe('invalid seek');
    expect(systemReason(withCode('ESTRANGE'))).toBe('the system says ESTRANGE');
  });

  test('any other error keeps its own message, and what is no error its text', () => {
    expect(systemReason(new Error('not JSON'))).toBe('not JSON');
    expect(systemReason(Object.assign(new Error('a bad argument'), { code: 'ERR_INVALID_ARG' }))).toBe(
      'a bad argument',
    );
    expect(systemReason('text')).toBe('text');
    expect(systemCode(Object.assign(new Error(''), { code: 'ERR_X' }))).toBeUndefined();
  });

  test('that nobody expected is told with the path that it was about', () => {
    const error = LeafgateError.from(thrownBy(() => readFileSync(folder.file('none'))));
    expect(error.message).toBe(`an unexpected failure: ${folder.file('none')}: no such file or folder`);
  });
});

test('the code of the system is found in an error of ours, too, when it was the cause', () => {
  const cause = withCode('EROFS');
  expect([cause, new Error('no folder', { cause }), new Error('no'), 'EROFS'].map(innerSystemCode)).toEqual([
    ...['EROFS', 'EROFS'],
    ...[undefined, undefined],
  ]);
});
