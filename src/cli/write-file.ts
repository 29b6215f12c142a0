// Writing a whole file so that a reader sees the old or the new one, never a part: temporary file, fsync, rename.
import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';

/** Replaces `path` by `text` in one step; throws what the file system throws, leaving the old file as it was. */
export function writeFileAtomically(path: string, text: string, mode: number): void {
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    const file = openSync(draft, 'w', mode);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (error) {
    removeDraft(draft);
    throw error;
  }
}

function removeDraft(draft: string): void {
  try {
    unlinkSync(draft);
  } catch {
    // it was never made, or the folder is gone with it
  }
}
