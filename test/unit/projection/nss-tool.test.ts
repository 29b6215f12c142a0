import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openTop, type Folder } from '../../../src/projection/held-folder.ts';
import { runCertutil } from '../../../src/projection/nss-tool.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

let folder: TempFolder;
let held: Folder;
beforeEach(async () => {
  folder = createTempFolder();
  mkdirSync(folder.file('database'));
  held = await openTop(folder.file('database'));
});
afterEach(async () => {
  await held.handle.close();
  folder.remove();
});

test('where the folder of a database has vanished, it is not the tool that is called missing', async () => {
  // as without /proc, where it is reached by its path
  const database = { ...held, isByDescriptor: false, at: (name: string) => join(held.path, name) };
  const run = { certutil: '/bin/sh', database, inputs: held, args: [], user: undefined };
  rmSync(held.path, { recursive: true });
  await expect(runCertutil(run)).rejects.toMatchObject({
    code: 'nss-tool-failed',
    fields: { path: held.path, detail: 'its folder has vanished' },
  });
  await expect(runCertutil({ ...run, database: held, certutil: '/no/certutil' })).rejects.toMatchObject({
    code: 'nss-tool-missing',
  });
});
