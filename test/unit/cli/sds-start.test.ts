import { chmodSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { createFakeIo } from '../../support/fake-io.ts';
import { writePool } from '../../support/sds-command-under-test.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

let temp: TempFolder;
beforeEach(() => (temp = createTempFolder()));
afterEach(() => temp.remove());

/** what `leafgate sds` prints up to the moment when it is ready */
async function startWith(poolFile: string): Promise<string> {
  const terminal = createFakeIo({});
  const args = ['sds', '--pool', poolFile, '--listen', `unix:${temp.file('s.sock')}`, '--allow-any'];
  const running = runCommandLine(args, terminal.io);
  await waitFor('the server', () => terminal.stderr().includes('SDS server is ready'));
  terminal.signal('SIGTERM');
  await running;
  return terminal.stderr();
}

test('a pool file that others may read is warned about at the start, with its mode and the remedy', async () => {
  const { file } = writePool(temp.file('pool.json'));
  chmodSync(file, 0o644);
  const printed = await startWith(file);
  expect(printed).toMatch(/warn.*the pool file holds CA keys and is not private/);
  expect(printed).toContain(`its mode is 0644: chmod 600 ${file}`);
});

test('a private pool file is no news', async () => {
  expect(await startWith(writePool(temp.file('pool.json')).file)).not.toContain('private');
});
