// What a `run` that was killed leaves is swept by the next one, and what belongs to somebody else stops nobody.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runFolderPrefix, sweepRunFolders } from '../../../src/cli/run-folders.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

/** above what Linux gives out (proc(5), pid_max) */
const nobody = 4_999_999;
let temp: TempFolder;
beforeEach(() => (temp = createTempFolder()));
afterEach(() => temp.remove());

function makeFolder(name: string): string {
  const path = temp.file(name);
  mkdirSync(path);
  return path;
}

test('removes the folders of processes that are gone, and no others', () => {
  const left = makeFolder(`${runFolderPrefix}${nobody}-abc`);
  const used = makeFolder(`${runFolderPrefix}${process.pid}-abc`);
  const foreign = makeFolder('something-else');
  sweepRunFolders(temp.path);
  expect([left, used, foreign].map((path) => existsSync(path))).toEqual([false, true, true]);
});

test('leaves the trust files of a killed run to the command that outlived it, and takes them then', async () => {
  const used = makeFolder(`${runFolderPrefix}${nobody}-abc`);
  const child = spawn('/bin/cat', { env: { SSL_CERT_FILE: join(used, '0123456789abcdef', 'ca.pem') } });
  await once(child, 'spawn');
  sweepRunFolders(temp.path);
  expect(existsSync(used)).toBe(true);
  child.stdin.end();
  await once(child, 'exit');
  sweepRunFolders(temp.path);
  expect(existsSync(used)).toBe(false);
});

test('a temporary folder that is not there is no matter of sweeping', () => {
  expect(() => sweepRunFolders(temp.file('none'))).not.toThrow();
});

test('leaves a folder of another user, which may not be removed, and goes on', () => {
  const theirs = makeFolder(`${runFolderPrefix}${nobody}-aaa`);
  const ours = makeFolder(`${runFolderPrefix}${nobody}-bbb`);
  sweepRunFolders(temp.path, (path) => {
    if (path === join(temp.path, `${runFolderPrefix}${nobody}-aaa`))
      throw Object.assign(new Error('no'), { code: 'EPERM' });
    rmSync(path, { recursive: true });
  });
  expect([theirs, ours].map((path) => existsSync(path))).toEqual([true, false]);
});
