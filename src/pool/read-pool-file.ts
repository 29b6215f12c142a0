// Reads the bytes of a pool file, symlinks followed, at most one byte more than a pool may have. An edge; it must not
// know what a pool says.
import { constants } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { systemReason } from '../system-error.ts';
import { maxPoolBytes } from './pool-document.ts';
import { poolErrors } from './pool-errors.ts';

/** Rejects with `pool-file-unreadable` or `pool-too-large`. */
export async function readPoolFile(path: string): Promise<Uint8Array> {
  const file = await openFile(path);
  try {
    const about = await file.stat();
    if (!about.isFile()) throw unreadable(path, 'it is no regular file');
    if (about.size > maxPoolBytes) throw poolErrors.error('pool-too-large', { source: path, maxBytes: maxPoolBytes });
    return await readAtMost(file, maxPoolBytes + 1);
  } finally {
    await file.close();
  }
}

/** group and others: a pool holds CA keys */
const ownersOnly = 0o077;
/** a Secret is mounted as root's, readable by the group of the pod */
const othersOnly = 0o007;

/** The mode of a pool file that more people may read or write than should, as `chmod` takes it; undefined when it is private. */
export async function looseModeOf(path: string): Promise<string | undefined> {
  const about = await stat(path).catch(() => undefined);
  if (about === undefined) return undefined;
  const isOwn = about.uid === process.getuid?.();
  const isLoose = (about.mode & (isOwn ? ownersOnly : othersOnly)) !== 0;
  return isLoose ? (about.mode & 0o7777).toString(8).padStart(4, '0') : undefined;
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    // a FIFO must not hang the process until somebody writes to it
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (thrown) {
    throw unreadable(path, systemReason(thrown));
  }
}

/** The file may grow while it is read: what counts is what was read, not what `stat` said. */
async function readAtMost(file: FileHandle, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  while (total < limit) {
    const chunk = Buffer.alloc(Math.min(64 * 1024, limit - total));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
    if (bytesRead === 0) break;
    chunks.push(chunk.subarray(0, bytesRead));
    total += bytesRead;
  }
  return Buffer.concat(chunks);
}

function unreadable(source: string, reason: string): Error {
  return poolErrors.error('pool-file-unreadable', { source, reason });
}
