// Reads a whole regular file, symlinks followed, but never more than a limit: what somebody points a setting at must not
// hang a process or fill its memory. Must not know what the file says.
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { systemCode, systemReason } from './system-error.ts';

export type FileContent =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'too-large' }
  /** `reason` is a phrase for people; `isMissing`: nothing stands there */
  | { readonly kind: 'unreadable'; readonly reason: string; readonly isMissing?: true };

/** Never rejects; FIFOs, sockets and devices are unreadable. */
export async function readRegularFile(path: string, maxBytes: number): Promise<FileContent> {
  try {
    // a FIFO must not hang the process until somebody writes to it
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return await readOpenFile(file, maxBytes);
    } finally {
      await file.close();
    }
  } catch (thrown) {
    return unreadable(thrown);
  }
}

/** What a file that could not be opened is. */
export function unreadable(thrown: unknown): FileContent {
  const isMissing = missing.has(systemCode(thrown) ?? '');
  return { kind: 'unreadable', reason: systemReason(thrown), ...(isMissing ? { isMissing } : {}) };
}

/** what a path is told by that leads to nothing */
const missing: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR']);

/** Rejects with what the system says. */
export async function readOpenFile(file: FileHandle, maxBytes: number): Promise<FileContent> {
  const about = await file.stat();
  if (about.isDirectory()) return { kind: 'unreadable', reason: 'it is a folder' };
  if (!about.isFile()) return { kind: 'unreadable', reason: 'it is no regular file' };
  if (about.size > maxBytes) return { kind: 'too-large' };
  const bytes = await readAtMost(file, maxBytes + 1);
  return bytes.length > maxBytes ? { kind: 'too-large' } : { kind: 'bytes', bytes };
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

/** What is unreadable for the same reason is the same. */
export function isSameContent(one: FileContent, other: FileContent): boolean {
  switch (one.kind) {
    case 'bytes':
      return other.kind === 'bytes' && Buffer.compare(one.bytes, other.bytes) === 0;
    case 'unreadable':
      return other.kind === 'unreadable' && one.reason === other.reason;
    case 'too-large':
      return other.kind === 'too-large';
    default:
      return one satisfies never;
  }
}
