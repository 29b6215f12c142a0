// One file of a volume, at a path that never changes: a draft beside it, fsync, rename, fsync of the folder. A reader sees
// the old or the new file, whole; who holds the old one open goes on reading it. Never written into, never through a
// link. Must not know what the bytes are.
import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { open, rename, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { draftPattern } from '../settings/trust-volume.ts';
import { systemCode } from '../system-error.ts';
import { giveTo, lookUp, syncFolder, unsafe, type Access, type Folder } from './held-folder.ts';
import type { EntryKind } from './volume-manifest.ts';

/** where a run can be killed, for tests that do so */
export type WriteStep =
  | 'folder-made'
  | 'folder-finished'
  | 'draft-opened'
  | 'draft-written'
  | 'draft-closed'
  | 'draft-renamed'
  | 'folder-synced'
  | 'entry-removed';

export type PlacedFile = {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly access: Access;
  readonly afterStep: (step: WriteStep) => void;
};

/** of its own, so that two writers never share one; the name of the file is not in it, since it may be as long as a name can be */
export function newDraftName(): string {
  return `.${randomUUID().replaceAll('-', '')}.leafgate-new`;
}

export function isDraftName(name: string): boolean {
  return draftPattern.test(name);
}

/** Rejects with what the system says, or `volume-entry-unsafe`, `volume-owner-refused`; the old file is then as it was. */
export async function placeFile(folder: Folder, file: PlacedFile): Promise<'written' | 'unchanged'> {
  const found = await lookUp(folder, file.name);
  if (found !== undefined && !found.isFile()) throw unsafe(join(folder.path, file.name), found);
  if (found !== undefined && isLike(found, file) && (await holds(folder, file))) return 'unchanged';
  await replace(folder, file, maxAttempts);
  file.afterStep('draft-renamed');
  await syncFolder(folder);
  file.afterStep('folder-synced');
  // who may write to the folder can put a link in the place of a draft: it is not passed off as ours
  const placed = await lookUp(folder, file.name);
  if (placed?.isFile() === false) throw unsafe(join(folder.path, file.name), placed);
  return 'written';
}

/** another run's sweep may take a draft away, once when it starts: then another is written */
const maxAttempts = 3;

async function replace(folder: Folder, file: PlacedFile, attempts: number): Promise<void> {
  const draft = newDraftName();
  try {
    await writeDraft(folder, draft, file);
    await rename(folder.at(draft), folder.at(file.name));
  } catch (thrown) {
    await unlink(folder.at(draft)).catch(() => undefined);
    if (systemCode(thrown) !== 'ENOENT' || attempts === 1) throw thrown;
    await replace(folder, file, attempts - 1);
  }
}

/** A second name (a hard link) means that somebody else keeps the file too: it is replaced by one of its own. */
function isLike(found: Stats, { bytes, access: { mode, owner } }: PlacedFile): boolean {
  const isOwned = owner === undefined || (found.uid === owner.uid && found.gid === owner.gid);
  return found.size === bytes.length && (found.mode & 0o7777) === mode && isOwned && found.nlink === 1;
}

async function holds(folder: Folder, { name, bytes }: PlacedFile): Promise<boolean> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  // what cannot be read is replaced
  const handle = await open(folder.at(name), flags).catch(() => undefined);
  if (handle === undefined) return false;
  try {
    if (!(await handle.stat()).isFile()) return false;
    // one more than is wanted, so that a longer file is not taken for it, and never more
    const content = Buffer.alloc(bytes.length + 1);
    const { bytesRead } = await handle.read(content, 0, content.length, 0);
    return bytesRead === bytes.length && content.subarray(0, bytesRead).equals(bytes);
  } finally {
    await handle.close();
  }
}

async function writeDraft(folder: Folder, draft: string, file: PlacedFile): Promise<void> {
  const { access, afterStep, bytes, name } = file;
  const handle = await open(folder.at(draft), 'wx', 0o600);
  try {
    afterStep('draft-opened');
    await handle.writeFile(bytes);
    afterStep('draft-written');
    await openUp(handle, access, join(folder.path, name));
    await handle.sync();
  } finally {
    await handle.close();
  }
  afterStep('draft-closed');
}

/** whatever the umask; the owner last, since who gives a file away may no longer change its mode */
async function openUp(handle: FileHandle, access: Access, path: string): Promise<void> {
  await handle.chmod(access.mode);
  await giveTo(handle, access.owner, path);
}

/** Whether there is something of a kind that a reader could use; what was put into place is whole. */
export async function isThere(folder: Folder, name: string, kind: EntryKind): Promise<boolean> {
  const found = await lookUp(folder, name);
  if (kind === 'database') return found?.isDirectory() === true;
  return found?.isFile() === true && found.size > 0;
}
