// Taking away what leafgate itself put into a volume: files that are no longer asked for, folders that were made for them
// and are empty, drafts of a run that was killed. Never anything else, and never through a link. Must not know why.
import { opendir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { LeafgateError } from '../errors.ts';
import { systemCode } from '../system-error.ts';
import { enter, lookUp, syncFolder, type Folder } from './held-folder.ts';
import { isDraftName } from './place-file.ts';
import { notRemoved } from './volume-errors.ts';
import { release, type EntryKind, type VolumeManifest } from './volume-manifest.ts';
import { split, within } from './walk-volume.ts';

/** of a folder that an actor may have filled; what comes later is left */
const maxEntriesSeen = 10_000;

export type Removal = {
  /** what is left of it */
  readonly manifest: VolumeManifest;
  readonly removed: readonly string[];
  readonly problems: readonly LeafgateError[];
};

/** `paths` are entries of the manifest; what cannot be removed stays in it. */
export async function removeEntries(top: Folder, manifest: VolumeManifest, paths: readonly string[]): Promise<Removal> {
  const removed: string[] = [];
  const gone = new Set<string>();
  const problems: LeafgateError[] = [];
  for (const path of paths) {
    const { above, name } = split(path);
    try {
      const remove = (folder: Folder): Promise<boolean> =>
        removeEntry(folder, name, manifest.entries.get(path) ?? 'file');
      if ((await within(top, above, remove)) === true) removed.push(path);
      gone.add(path);
    } catch (thrown) {
      // a link on the way was put there by somebody: what it leads to was never ours
      if (isUnsafe(thrown)) gone.add(path);
      else problems.push(notRemoved(join(top.path, path), thrown));
    }
  }
  const left = release(manifest, gone);
  await pruneFolders(top, manifest, left);
  return { manifest: left, removed, problems };
}

/** Removes the folders that `left` no longer has, where nothing is in them. */
export async function pruneFolders(top: Folder, before: VolumeManifest, left: VolumeManifest): Promise<void> {
  for (const path of [...before.folders].filter((folder) => !left.folders.has(folder)).sort(deepestFirst)) {
    const { above, name } = split(path);
    // somebody keeps something in it, or it is not there, or no folder any more: all are reasons to let it be
    await within(top, above, (folder) => rmdir(folder.at(name))).catch(() => undefined);
  }
}

export function isUnsafe(thrown: unknown): boolean {
  return thrown instanceof LeafgateError && thrown.code === 'volume-entry-unsafe';
}

function deepestFirst(one: string, other: string): number {
  return other.split('/').length - one.split('/').length;
}

/** False where there is nothing of ours: nothing at all, or what somebody else put there. */
async function removeEntry(folder: Folder, name: string, kind: EntryKind): Promise<boolean> {
  const found = await lookUp(folder, name);
  if (kind === 'database' ? found?.isDirectory() !== true : found?.isFile() !== true) return false;
  if (kind === 'database') await removeDatabase(folder, name);
  else await unlink(folder.at(name));
  await syncFolder(folder);
  return true;
}

/** another run was faster; or it holds a folder, or is somebody else's in a sticky folder, and so was never ours */
const isLeft: ReadonlySet<string> = new Set(['ENOENT', 'EISDIR', 'EPERM']);

/** Removes the drafts in a folder; returns how many there were. */
export async function sweepFolder(folder: Folder): Promise<number> {
  let swept = 0;
  for (const name of await namesIn(folder)) {
    if (!isDraftName(name)) continue;
    const found = await lookUp(folder, name);
    if (found === undefined) continue;
    try {
      if (found.isDirectory()) await removeDraftFolder(folder, name);
      else await unlink(folder.at(name));
      swept += 1;
    } catch (thrown) {
      if (!isLeft.has(systemCode(thrown) ?? '')) throw notRemoved(join(folder.path, name), thrown);
    }
  }
  return swept;
}

export async function namesIn(folder: Folder): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(folder.at('.'))) {
    names.push(name);
    if (names.length === maxEntriesSeen) break;
  }
  return names;
}

/** A database that was not finished, or what one is made from; files only. What is gone is fine. */
export async function removeDraftFolder(above: Folder, name: string): Promise<void> {
  await removeFolder(above, name, () => true);
}

/** what NSS keeps in the folder of a database, and what SQLite leaves beside it when it is killed */
const databaseFile = /^(?:cert9\.db|key4\.db|pkcs11\.txt)(?:-journal|-wal|-shm)?$/;

async function removeDatabase(above: Folder, name: string): Promise<void> {
  await removeFolder(above, name, (file) => databaseFile.test(file));
}

/** Files that `isOurs`, then the folder; with anything else in it, it stays. */
async function removeFolder(above: Folder, name: string, isOurs: (file: string) => boolean): Promise<void> {
  const folder = await enter(above, name);
  if (folder === undefined) return;
  try {
    for (const file of await namesIn(folder)) if (isOurs(file)) await unlink(folder.at(file));
  } finally {
    await folder.handle.close();
  }
  await rmdir(above.at(name)).catch((thrown: unknown) => {
    if (systemCode(thrown) !== 'ENOTEMPTY' && systemCode(thrown) !== 'EEXIST') throw thrown;
  });
}
