// Reads the bytes of a pool file, symlinks followed, never more than a pool may have. An edge; it must not
// know what a pool says.
import { stat } from 'node:fs/promises';
import { readRegularFile } from '../read-regular-file.ts';
import { maxPoolBytes } from './pool-document.ts';
import { poolErrors } from './pool-errors.ts';

/** Rejects with `pool-file-unreadable` or `pool-too-large`. */
export async function readPoolFile(path: string): Promise<Uint8Array> {
  const content = await readRegularFile(path, maxPoolBytes);
  switch (content.kind) {
    case 'bytes':
      return content.bytes;
    case 'too-large':
      throw poolErrors.error('pool-too-large', { source: path, maxBytes: maxPoolBytes });
    case 'unreadable':
      throw poolErrors.error('pool-file-unreadable', { source: path, reason: content.reason });
    default:
      return content satisfies never;
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
