// First it is noted in a volume what will be ours, then it is written: a run that is killed leaves nothing that the next one
// does not know of. Must not know what is written.
import { join } from 'node:path';
import type { LeafgateError } from '../errors.ts';
import type { Folder } from './held-folder.ts';
import type { WriteStep } from './place-file.ts';
import { pruneFolders, removeEntries } from './remove-entries.ts';
import { notWritten } from './volume-errors.ts';
import { saveManifest, type VolumeFolder } from './volume-folder.ts';
import { areNested, claim, foldersAbove, release, type EntryKind, type VolumeManifest } from './volume-manifest.ts';
import { missingFolders } from './walk-volume.ts';

export type Claimed = {
  readonly manifest: VolumeManifest;
  /** what was not ours before */
  readonly fresh: readonly string[];
  /** by path: what cannot be written since it could not be noted that it is ours */
  readonly refusals: ReadonlyMap<string, LeafgateError>;
};

/** What is in the way of `wanted` and ours is removed. Never rejects. */
export async function claimPaths(
  { top, manifest: before }: VolumeFolder,
  wanted: ReadonlyMap<string, EntryKind>,
  afterStep: (step: WriteStep) => void,
): Promise<Claimed> {
  const fresh = [...wanted.keys()].filter((path) => !before.entries.has(path));
  const inTheWay = [...before.entries.keys()].filter((path) => isInTheWay(path, before, wanted));
  try {
    const { manifest } = await removeEntries(top, before, inTheWay);
    const folders = await missingFolders(top, [...new Set(fresh.flatMap(foldersAbove))]);
    const claimed = claim(manifest, wanted, folders);
    if (fresh.length > 0 || inTheWay.length > 0) await saveManifest(top, claimed, afterStep);
    return { manifest: claimed, fresh, refusals: new Map() };
  } catch (thrown) {
    const refusals = fresh.map((path) => [path, notWritten(join(top.path, path), thrown)] as const);
    return { manifest: before, fresh: [], refusals: new Map(refusals) };
  }
}

/** a file of before where a folder goes now, or the other way round */
function isInTheWay(path: string, { entries }: VolumeManifest, wanted: ReadonlyMap<string, EntryKind>): boolean {
  const wantedKind = wanted.get(path);
  if (wantedKind !== undefined) return wantedKind !== entries.get(path);
  return [...wanted.keys()].some((other) => areNested(path, other));
}

/** What was claimed and never came to be is not ours: it may be somebody else's by now. */
export async function unclaim(
  top: Folder,
  { manifest, fresh }: Claimed,
  unwritten: ReadonlySet<string>,
  afterStep: (step: WriteStep) => void,
): Promise<void> {
  const unclaimed = new Set(fresh.filter((path) => unwritten.has(path)));
  if (unclaimed.size === 0) return;
  const left = release(manifest, unclaimed);
  await pruneFolders(top, manifest, left);
  // a full disk: the next write claims and unclaims again
  await saveManifest(top, left, afterStep).catch(() => undefined);
}
