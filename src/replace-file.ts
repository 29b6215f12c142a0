// Writing a whole file so that a reader sees the old or the new one, never a part, also after a power cut: a draft beside
// it, fsync, rename. Must not know what is written.
import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

/** Replaces `path` by `content` in one step; rejects with what the system says, leaving the old file as it was and no draft. */
export async function replaceFile(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  // a name of its own, so that two writers never share a draft
  const draft = `${path}.${randomUUID()}.new`;
  try {
    const file = await open(draft, 'wx', mode);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (thrown) {
    await rm(draft, { force: true }).catch(() => undefined);
    // what a file handle throws does not say of which file
    if (thrown instanceof Error && !('path' in thrown)) Object.assign(thrown, { path });
    throw thrown;
  }
}
