// A folder that is held open, and its entries reached through that hold: on Linux as openat(2) does it, by
// /proc/self/fd/<n>/<name>, so that a folder which somebody swaps for a symlink after it was entered changes nothing.
// Without /proc each step is still checked when it is entered, but one that is swapped later is followed: Node has no
// openat. Must not know what is in the folders.
import { constants, type Stats } from 'node:fs';
import { lstat, mkdir, open, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode, systemReason } from '../system-error.ts';
import { volumeErrors } from './volume-errors.ts';

export type Folder = {
  /** absolute, for people */
  readonly path: string;
  readonly handle: FileHandle;
  /** whether entries are reached by the descriptor, whatever becomes of the path */
  readonly isByDescriptor: boolean;
  /** where an entry of it is reached */
  at(name: string): string;
};

export type Owner = { readonly uid: number; readonly gid: number };
/** what a new file or folder gets; without an owner it is the process's */
export type Access = { readonly mode: number; readonly owner: Owner | undefined };

const openFolderFlags = constants.O_RDONLY | constants.O_DIRECTORY;

/** The top of a volume; symlinks on the way to it, and it itself, are its owner's choice and followed. */
export async function openTop(path: string): Promise<Folder> {
  const handle = await open(path, openFolderFlags);
  const isByDescriptor = await isSame(handle, descriptorPath(handle));
  const base = isByDescriptor ? descriptorPath(handle) : path;
  return { path, handle, isByDescriptor, at: (name) => join(base, name) };
}

/** Where what a handle holds is reached, by whoever has it open. */
export function descriptorPath(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

async function isSame(handle: FileHandle, path: string): Promise<boolean> {
  const [one, other] = await Promise.all([handle.stat(), stat(path).catch(() => undefined)]);
  return one.ino === other?.ino && one.dev === other.dev;
}

/** A folder in `folder`, never through a symlink; undefined where there is none. Throws `volume-entry-unsafe`. */
export async function enter(folder: Folder, name: string): Promise<Folder | undefined> {
  const path = join(folder.path, name);
  try {
    const handle = await open(folder.at(name), openFolderFlags | constants.O_NOFOLLOW);
    const { isByDescriptor } = folder;
    const base = isByDescriptor ? descriptorPath(handle) : folder.at(name);
    return { path, handle, isByDescriptor, at: (inside) => join(base, inside) };
  } catch (thrown) {
    const code = systemCode(thrown);
    if (code === 'ENOENT') return undefined;
    // a symlink is one or the other, by the system
    if (code !== 'ENOTDIR' && code !== 'ELOOP') throw thrown;
    throw unsafe(path, await lookUp(folder, name), thrown);
  }
}

/** What stands under a name, a symlink as itself; undefined for nothing. */
export async function lookUp(folder: Folder, name: string): Promise<Stats | undefined> {
  try {
    return await lstat(folder.at(name));
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

export function unsafe(path: string, found: Stats | undefined, cause?: unknown): Error {
  return volumeErrors.error('volume-entry-unsafe', { path, found: kindOf(found) }, cause);
}

function kindOf(found: Stats | undefined): string {
  if (found === undefined) return 'an entry that changes while it is looked at';
  if (found.isSymbolicLink()) return 'a symbolic link';
  if (found.isDirectory()) return 'a folder';
  if (found.isFile()) return 'a file';
  if (found.isFIFO()) return 'a named pipe';
  return found.isSocket() ? 'a socket' : 'a device';
}

/**
 * The mode of a folder that is being made: closed to others, and with a bit that nobody sets beside it, so that one that
 * a killed run left is known and finished, while an existing folder of others keeps its mode.
 */
const unfinishedMode = 0o1700;
/** a folder may inherit setgid from the one above it, as in volumes of a pod with fsGroup */
const setgid = 0o2000;

/** Makes a folder that is still to be finished; one that exists is left as it is. */
export async function makeUnfinished(path: string): Promise<void> {
  await mkdir(path, unfinishedMode).catch((thrown: unknown) => {
    if (systemCode(thrown) !== 'EEXIST') throw thrown;
  });
}

export async function isUnfinished(folder: Folder): Promise<boolean> {
  const { uid, mode } = await folder.handle.stat();
  return uid === process.geteuid?.() && (mode & 0o7777 & ~setgid) === unfinishedMode;
}

/** Gives an unfinished folder its mode and owner. */
export async function finishFolder(folder: Folder, access: Access): Promise<void> {
  const { mode } = await folder.handle.stat();
  // owner last: who gives a folder away may no longer change its mode
  await folder.handle.chmod(access.mode | (mode & setgid));
  await giveTo(folder.handle, access.owner, folder.path);
}

/** The reverse, before a folder of ours is removed, so that a run that is killed meanwhile leaves nothing unknown. */
export async function markUnfinished(folder: Folder): Promise<void> {
  const [uid, gid] = [process.geteuid?.(), process.getegid?.()];
  const found = await folder.handle.stat();
  if (uid !== undefined && gid !== undefined && found.uid !== uid) await folder.handle.chown(uid, gid);
  await folder.handle.chmod(unfinishedMode);
}

/** `path` is what the error names */
export async function giveTo(handle: FileHandle, owner: Owner | undefined, path: string): Promise<void> {
  if (owner === undefined) return;
  const { uid, gid } = await handle.stat();
  if (uid === owner.uid && gid === owner.gid) return;
  try {
    await handle.chown(owner.uid, owner.gid);
  } catch (thrown) {
    throw volumeErrors.error('volume-owner-refused', { path, ...owner, detail: systemReason(thrown) }, thrown);
  }
}

/** The changes in a folder reach the disk. */
export async function syncFolder(folder: Folder): Promise<void> {
  await folder.handle.sync().catch((thrown: unknown) => {
    // file systems that keep no folders on a disk say so in these ways
    if (!['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(systemCode(thrown) ?? '')) throw thrown;
  });
}
