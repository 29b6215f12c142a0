// Writes a new pool file: for its owner only, never over another file, on the disk when the promise resolves. An edge;
// it must not know what a pool says.
import { randomUUID } from 'node:crypto';
import { link, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { SecretBytes } from '../secret-bytes.ts';
import { systemCode, systemReason } from '../system-error.ts';
import { poolErrors } from './pool-errors.ts';

/**
 * Makes no folder: a path with a slip in it must not put a key where nobody looks. Rejects with `pool-folder-missing`,
 * `pool-file-exists` or `pool-file-unwritable`.
 */
export async function writeNewPoolFile(path: string, bytes: SecretBytes): Promise<void> {
  const folder = dirname(path);
  const draft = `${path}.${randomUUID()}.new`;
  try {
    await writeDraft(draft, bytes);
    // a link is there whole or not at all, whenever the process is killed, and never takes another file's place
    await link(draft, path);
    await syncFolder(folder);
  } catch (thrown) {
    if (systemCode(thrown) === 'EEXIST') throw poolErrors.error('pool-file-exists', { path });
    if (systemCode(thrown) === 'ENOENT') throw poolErrors.error('pool-folder-missing', { path, folder });
    throw unwritable(path, thrown);
  } finally {
    await unlink(draft).catch(() => undefined);
  }
}

async function writeDraft(draft: string, bytes: SecretBytes): Promise<void> {
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(bytes.reveal());
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The name of a new file is only safe once its folder is synced, too. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function unwritable(path: string, thrown: unknown): Error {
  return poolErrors.error('pool-file-unwritable', { path, reason: systemReason(thrown) }, thrown);
}
