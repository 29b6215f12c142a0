// Writes the files of a trust volume into its folder: whole or not at all, at paths that never change, and takes away what
// it wrote when it is no longer asked for. The folder may be an actor's: below it no link is followed and nothing of
// others is touched. Must not know bundles, backends or actors.
import { join } from 'node:path';
import { LeafgateError } from '../errors.ts';
import { throwAll } from '../problems.ts';
import { systemCode } from '../system-error.ts';
import type { TrustForm } from '../settings/trust-volume.ts';
import type { Pem } from '../x509/certificate-types.ts';
import { certificatesOf, encodeForm } from './encode-form.ts';
import { claimPaths, unclaim, type Claimed } from './claim-paths.ts';
import type { Folder, Owner } from './held-folder.ts';
import { keepDatabase } from './nss-database.ts';
import { isDraftName, isThere, placeFile, type WriteStep } from './place-file.ts';
import { isUnsafe, removeEntries, sweepFolder } from './remove-entries.ts';
import { notRemoved, notWritten, volumeErrors } from './volume-errors.ts';
import {
  makeVolumeFolder,
  openVolumeFolder,
  removeVolumeFolder,
  saveManifest,
  type VolumeFolder,
  type VolumeFolderOptions,
} from './volume-folder.ts';
import { entryKindOf, whyUnclean, type EntryKind } from './volume-manifest.ts';
import { split, within } from './walk-volume.ts';

export type WantedFile = {
  /** below the volume's folder */
  readonly path: string;
  readonly pemBundle: Pem;
  readonly form: TrustForm;
};

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
  /** the program that writes NSS databases; default `certutil`, where the system keeps its programs */
  readonly certutil?: string;
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

type Writing = VolumeFolderOptions & {
  readonly fileMode: number;
  readonly owner: Owner | undefined;
  readonly certutil: string;
};

export function openVolumeWriter(options: VolumeWriterOptions): VolumeWriter {
  const { dir, owner, fileMode = 0o644, folderMode = 0o755, certutil = 'certutil' } = options;
  const afterStep = options.afterStep ?? (() => undefined);
  const writing = { dir, owner, fileMode, folderAccess: { mode: folderMode, owner }, certutil, afterStep };
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
      count += (await within(top, folder, sweepFolder).catch(unlessUnsafe)) ?? 0;
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
    const kinds = new Map(files.map(({ path, form }) => [path, entryKindOf(form)] as const));
    const claimed = await claimPaths(volume, kinds, writing.afterStep);
    const outcomes: WriteOutcome[] = [];
    // databases last, since they take a process and its time
    for (const file of [...files].sort((one, other) => rankOf(one) - rankOf(other))) {
      const refusal = claimed.refusals.get(file.path);
      outcomes.push(
        refusal === undefined ? await writeFile(volume.top, file, writing, claimed) : failed(file.path, refusal),
      );
    }
    const unwritten = new Set(outcomes.filter(({ kind }) => kind === 'failed').map(({ path }) => path));
    await unclaim(volume.top, claimed, unwritten, writing.afterStep);
    return outcomes;
  } finally {
    await volume.top.handle.close();
  }
}

function rankOf({ form }: WantedFile): number {
  return form === 'NSS' ? 1 : 0;
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

/** another run may take a folder away that is still empty: then it is made again */
const maxAttempts = 3;

async function writeFile(top: Folder, file: WantedFile, writing: Writing, claimed: Claimed): Promise<WriteOutcome> {
  const make = { access: writing.folderAccess, afterStep: writing.afterStep };
  const isOurs = !claimed.fresh.includes(file.path);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const place = (folder: Folder): ReturnType<typeof placeForm> => placeForm(folder, file, writing, isOurs);
      const kind = await within(top, split(file.path).above, place, make);
      return { path: file.path, kind: kind ?? 'unchanged' };
    } catch (thrown) {
      if (systemCode(thrown) === 'ENOENT' && attempt < maxAttempts) continue;
      return failed(file.path, notWritten(join(writing.dir, file.path), thrown));
    }
  }
}

function placeForm(
  folder: Folder,
  file: WantedFile,
  { fileMode, owner, certutil, afterStep }: Writing,
  isOurs: boolean,
): Promise<'written' | 'unchanged'> {
  const { name } = split(file.path);
  if (file.form === 'NSS')
    return keepDatabase(folder, {
      name,
      certificates: certificatesOf(file.pemBundle),
      isOurs,
      certutil,
      owner,
      afterStep,
    });
  return placeFile(folder, {
    name,
    bytes: encodeForm(file.form, file.pemBundle),
    access: { mode: fileMode, owner },
    afterStep,
  });
}

async function heldEntries({ dir }: Writing): Promise<ReadonlyMap<string, EntryKind>> {
  const held = await inVolume(dir, async ({ top, manifest }) => {
    const found = new Map<string, EntryKind>();
    for (const [path, kind] of manifest.entries) {
      const { above, name } = split(path);
      const isWhole = await within(top, above, (folder) => isThere(folder, name, kind)).catch(() => false);
      if (isWhole === true) found.set(path, kind);
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
    throwAll(removal.problems);
    return removal.removed;
  });
  return went ?? [];
}

async function removeVolume(writing: Writing): Promise<void> {
  await sweepVolume(writing);
  await removeOthers(writing, new Set());
  await inVolume(writing.dir, (volume) => removeVolumeFolder(writing, volume));
}
