// The command that the banner names must work when it is copied.
import { expect, test } from 'vitest';
import { ownCommand } from '../../../src/cli/own-command.ts';

test.each([
  ['installed', 'file:///usr/lib/node_modules/leafgate/dist/cli/own-command.js', '/home/a', 'leafgate'],
  ['in a checkout', 'file:///home/a/leafgate/src/cli/own-command.ts', '/home/a/leafgate', 'npm run -s leafgate --'],
  ['below it', 'file:///home/a/leafgate/src/cli/own-command.ts', '/home/a/leafgate/docs', 'npm run -s leafgate --'],
  [
    'elsewhere',
    'file:///home/a/leafgate/src/cli/own-command.ts',
    '/home/a/other',
    'npm --prefix /home/a/leafgate run -s leafgate --',
  ],
  [
    'a folder with a space',
    'file:///home/a/leaf%20gate/src/cli/own-command.ts',
    '/tmp',
    "npm --prefix '/home/a/leaf gate' run -s leafgate --",
  ],
])('leafgate is called as it can be: %s', (_, place, cwd, expected) => {
  expect(ownCommand(place, cwd)).toBe(expected);
});
