// Writes the files of a trust volume into its folder: whole or not at all, at paths that never change, and takes away what
// it wrote when it is no longer asked for. The folder may be an actor's: below it no link is followed and nothing of
// others is touched. Must not know bundles, backends or actors.
import { join } from 'node:path';
import { LeafgateError } from '../errors.ts';
import { systemCode, systemReason } from '../system-error.ts';
import type { TrustForm } from '../settings/trust-volume.ts';
import { encodeForm } from './encode-form.ts';
import type { Folder, Owner } from './held-folder.ts';
import { isDraftName, isThere, placeFile, type WriteStep } from './place-file.ts';
import { isUnsafe, notRemoved, pruneFolders, removeEntries, sweepFolder } from './remove-entries.ts';
import type { TrustFile } from './trust-file.ts';
import { volumeErrors } from './volume-errors.ts';
import {
  makeVolumeFolder,
  openVolumeFolder,
  removeVolumeFolder,
  saveManifest,
  type VolumeFolder,
  type VolumeFolderOptions,
} from './volume-folder.ts';
import {
  areNested,
  claim,
  foldersAbove,
  release,
  whyUnclean,
  type EntryKind,
  type VolumeManifest,
} from './volume-manifest.ts';
import { missingFolders, split, within } from './walk-volume.ts';

export type WantedFile = TrustFile & { readonly form: TrustForm };

type WriteOutcome = { readonly path: string } & (
  | { readonly kind: 'written' }
  | { readonly kind: 'unchanged' }
  /** what was there before is still there */
  | { readonly kind: 'failed'; readonly error: LeafgateError }
);

export type VolumeWriterOptions = {
  readonly dir: string;
  /** of files and of the folders that are made; the process's own when left out */
  readonly owner?: Owner;
  /** default 0644 */
  readonly fileMode?: number;
  /** default 0755; folders that exist keep theirs */
  readonly folderMode?: number;
  /** for tests that end the process there */
  readonly afterStep?: (step: WriteStep) => void;
};

/** Its calls take effect one after the other. Between them it holds nothing open. */
export interface VolumeWriter {
  /** Removes drafts that a killed run left; returns how many. To be called before the first write. */
  sweep(): Promise<number>;
  /** One outcome a file, in their order; never rejects, and a file that fails stops no other. */
  write(files: readonly WantedFile[]): Promise<readonly WriteOutcome[]>;
  /** What was written here and is still there, whole, by path; never rejects. */
  held(): Promise<ReadonlyMap<string, EntryKind>>;
  /** Removes what this or an earlier process wrote here and is not in `paths`; returns what went. */
  removeOthers(paths: readonly string[]): Promise<readonly string[]>;
  /** Removes all that was written here, and the folder if it was made here and nobody put anything into it. */
  remove(): Promise<void>;
}

type Writing = VolumeFolderOptions & { readonly fileMode: number; readonly owner: Owner | undefined };

export function openVolumeWriter(options: VolumeWriterOptions): VolumeWriter {
  const { dir, owner, fileMode = 0o644, folderMode = 0o755, afterStep = () => undefined } = options;
  const writing = { dir, owner, fileMode, folderAccess: { mode: folderMode, owner }, afterStep };
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = async <T>(act: () => Promise<T>): Promise<T> => {
    const next = last.then(act);
    last = next.catch(() => undefined);
    return await next;
  };
  return {
    sweep: () => inTurn(() => sweepVolume(writing)),
    write: (files) => inTurn(() => writeFiles(writing, files)),
    held: () => inTurn(() => heldEntries(writing)),
    removeOthers: (paths) => inTurn(() => removeOthers(writing, new Set(paths))),
    remove: () => inTurn(() => removeVolume(writing)),
  };
}

async function inVolume<T>(dir: string, use: (volume: VolumeFolder) => Promise<T>): Promise<T | undefined> {
  try {
    const volume = await openVolumeFolder(dir);
    if (volume === undefined) return undefined;
    try {
      return await use(volume);
    } finally {
      await volume.top.handle.close();
    }
  } catch (thrown) {
    throw thrown instanceof LeafgateError ? thrown : notRemoved(dir, thrown);
  }
}

/** drafts are made beside what is claimed, and beside the manifest */
async function sweepVolume({ dir }: Writing): Promise<number> {
  const swept = await inVolume(dir, async ({ top, manifest }) => {
    let count = 0;
    for (const folder of new Set(['', ...[...manifest.entries.keys()].map((path) => split(path).above)])) {
      // what became of a folder since is for the write to find out
      count += (await within(top, folder, undefined, sweepFolder).catch(unlessUnsafe)) ?? 0;
    }
    return count;
  });
  return swept ?? 0;
}

function unlessUnsafe(thrown: unknown): undefined {
  if (!isUnsafe(thrown)) throw thrown;
}

async function writeFiles(writing: Writing, files: readonly WantedFile[]): Promise<readonly WriteOutcome[]> {
  const outcomes = new Map<string, WriteOutcome>();
  const good: WantedFile[] = [];
  for (const file of files) {
    const refusal = whyRefused(writing, file);
    if (refusal === undefined) good.push(file);
    else outcomes.set(file.path, failed(file.path, refusal));
  }
  // nothing is made for nothing
  for (const outcome of good.length === 0 ? [] : await writeGood(writing, good)) outcomes.set(outcome.path, outcome);
  return files.flatMap(({ path }) => outcomes.get(path) ?? []);
}

async function writeGood(writing: Writing, files: readonly WantedFile[]): Promise<readonly WriteOutcome[]> {
  let volume: VolumeFolder;
  try {
    volume = await makeVolumeFolder(writing);
  } catch (thrown) {
    const error = notWritten(writing.dir, thrown);
    return files.map(({ path }) => failed(path, error));
  }
  try {
    const kinds = new Map(files.map(({ path }): [string, EntryKind] => [path, 'file']));
    const claimed = await claimPaths(writing, volume, kinds);
    const outcomes: WriteOutcome[] = [];
    for (const file of files) {
      const refusal = claimed.refusals.get(file.path);
      outcomes.push(refusal === undefined ? await writeFile(writing, volume.top, file) : failed(file.path, refusal));
    }
    await settle(writing, volume.top, claimed, outcomes);
    return outcomes;
  } finally {
    await volume.top.handle.close();
  }
}

function whyRefused({ dir }: Writing, { path, pemBundle }: WantedFile): LeafgateError | undefined {
  const whole = join(dir, path);
  const detail = whyUnclean(path) ?? (isDraftName(split(path).name) ? 'that name is one of drafts' : undefined);
  if (detail !== undefined) return volumeErrors.error('volume-path-refused', { path, detail });
  return pemBundle.trim() === '' ? volumeErrors.error('volume-file-empty', { path: whole }) : undefined;
}

function failed(path: string, error: LeafgateError): WriteOutcome {
  return { path, kind: 'failed', error };
}

function notWritten(path: string, thrown: unknown): LeafgateError {
  if (thrown instanceof LeafgateError) return thrown;
  const code = systemCode(thrown) ?? (thrown instanceof Error ? systemCode(thrown.cause) : undefined);
  const fields = { path, detail: systemReason(thrown), reason: code ?? 'unknown' };
  return volumeErrors.error('volume-file-not-written', fields, thrown);
}

type Claimed = {
  readonly manifest: VolumeManifest;
  /** what was not ours before */
  readonly fresh: readonly string[];
  /** by path: what cannot be written since it could not be noted that it is ours */
  readonly refusals: ReadonlyMap<string, LeafgateError>;
};

/** First it is noted what is ours, then it is written: a run that is killed leaves nothing that nobody knows of. */
async function claimPaths(
  { afterStep }: Writing,
  { top, manifest: before }: VolumeFolder,
  wanted: ReadonlyMap<string, EntryKind>,
): Promise<Claimed> {
  const fresh = [...wanted.keys()].filter((path) => !before.entries.has(path));
  const inTheWay = [...before.entries].filter(([path, kind]) => isInTheWay(path, kind, wanted));
  try {
    const { manifest } = await removeEntries(
      top,
      before,
      inTheWay.map(([path]) => path),
    );
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
function isInTheWay(path: string, kind: EntryKind, wanted: ReadonlyMap<string, EntryKind>): boolean {
  const wantedKind = wanted.get(path);
  if (wantedKind !== undefined) return wantedKind !== kind;
  return [...wanted.keys()].some((other) => areNested(path, other));
}

/** another run may take a folder away that is still empty: then it is made again */
const maxAttempts = 3;

async function writeFile(writing: Writing, top: Folder, file: WantedFile): Promise<WriteOutcome> {
  const { folderAccess, afterStep, fileMode, owner } = writing;
  const { above, name } = split(file.path);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const make = { access: folderAccess, afterStep };
      const placed = { name, bytes: encodeForm(file), access: { mode: fileMode, owner }, afterStep };
      const kind = await within(top, above, make, (folder) => placeFile(folder, placed));
      return { path: file.path, kind: kind ?? 'unchanged' };
    } catch (thrown) {
      if (systemCode(thrown) === 'ENOENT' && attempt < maxAttempts) continue;
      return failed(file.path, notWritten(join(writing.dir, file.path), thrown));
    }
  }
}

/** What was claimed and never came to be is not ours: it may be somebody else's by now. */
async function settle(
  { afterStep }: Writing,
  top: Folder,
  { manifest, fresh }: Claimed,
  outcomes: readonly WriteOutcome[],
): Promise<void> {
  const unwritten = new Set(outcomes.filter(({ kind }) => kind === 'failed').map(({ path }) => path));
  const unclaimed = new Set(fresh.filter((path) => unwritten.has(path)));
  if (unclaimed.size === 0) return;
  const left = release(manifest, unclaimed);
  await pruneFolders(top, manifest, left);
  // a full disk: the next write claims and settles again
  await saveManifest(top, left, afterStep).catch(() => undefined);
}

async function heldEntries({ dir }: Writing): Promise<ReadonlyMap<string, EntryKind>> {
  const held = await inVolume(dir, async ({ top, manifest }) => {
    const found = new Map<string, EntryKind>();
    for (const [path, kind] of manifest.entries) {
      const { above, name } = split(path);
      const isHeld = await within(top, above, undefined, (folder) => isThere(folder, name, kind)).catch(() => false);
      if (isHeld === true) found.set(path, kind);
    }
    return found;
  }).catch(() => undefined);
  return held ?? new Map();
}

async function removeOthers({ dir, afterStep }: Writing, paths: ReadonlySet<string>): Promise<readonly string[]> {
  const went = await inVolume(dir, async ({ top, manifest }) => {
    const others = [...manifest.entries.keys()].filter((path) => !paths.has(path));
    if (others.length === 0) return [];
    const removal = await removeEntries(top, manifest, others);
    afterStep('entry-removed');
    await saveManifest(top, removal.manifest, afterStep);
    const [first, ...more] = removal.problems;
    if (first !== undefined) throw LeafgateError.all([first, ...more]);
    return removal.removed;
  });
  return went ?? [];
}

async function removeVolume(writing: Writing): Promise<void> {
  await sweepVolume(writing);
  await removeOthers(writing, new Set());
  await inVolume(writing.dir, (volume) => removeVolumeFolder(writing, volume));
}
