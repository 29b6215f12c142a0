import { expect, test } from 'vitest';
import { connectionsWithin, openFilesLimit } from '../../../src/cli/open-files.ts';

test.each([
  [undefined, 8000, 8000],
  [1_048_576, 8000, 8000],
  [1024, 8000, 412],
  [1024, 100, 100],
  [232, 8000, 16],
])('with %j open files, %i asked connections become %i', (limit, asked, expected) => {
  expect(connectionsWithin(limit, asked)).toBe(expected);
});

test('a limit that is too low is named with what is needed', () => {
  expect(() => connectionsWithin(231, 8000)).toThrow(/231.*232/);
});

test('the limit is what the system says of this process', () => {
  expect(openFilesLimit(() => 'Max open files            1024                 4096                 files\n')).toBe(
    1024,
  );
  expect(
    openFilesLimit(() => 'Max open files            unlimited            unlimited            files\n'),
  ).toBeUndefined();
  expect(openFilesLimit(() => '')).toBeUndefined();
});
