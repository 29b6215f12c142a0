// What leafgate has written into a volume, kept in the volume itself: who comes after a restart knows what is ours and may
// be removed, without a memory elsewhere. It may be anybody's words, since an actor may own the folder: only clean paths
// below the folder are taken from it. Pure; must not know how anything is removed.
import { isRecord } from '../is-record.ts';
import { manifestName, maxPathBytes, maxPathSegments, type TrustForm } from '../settings/trust-volume.ts';

/** a plain file, or the folder of an NSS database */
export type EntryKind = 'file' | 'database';

export function entryKindOf(form: TrustForm): EntryKind {
  return form === 'NSS' ? 'database' : 'file';
}

export type VolumeManifest = {
  /** whether the volume's own folder was made by leafgate */
  readonly madeFolder: boolean;
  readonly entries: ReadonlyMap<string, EntryKind>;
  /** folders below it that were made for the entries */
  readonly folders: ReadonlySet<string>;
};

/** a volume has at most 8 sources; this is room for what came and went, and a bound for a file that is not ours */
export const maxManifestBytes = 256 * 1024;
const maxManifestEntries = 1000;

const formatVersion = 1;

export const emptyManifest: VolumeManifest = { madeFolder: false, entries: new Map(), folders: new Set() };

/** The same bytes for the same manifest. */
export function printManifest({ madeFolder, entries, folders }: VolumeManifest): string {
  const written = [...entries].map(([path, kind]) => ({ path, kind })).sort(byPath);
  return `${JSON.stringify({ version: formatVersion, madeFolder, entries: written, folders: [...folders].sort() })}\n`;
}

/** undefined for what is no manifest; entries that are none are left out */
export function parseManifest(text: string): VolumeManifest | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value) || value['version'] !== formatVersion) return undefined;
  const entries = listOf(value['entries']).flatMap((entry) =>
    isEntry(entry) ? [[entry.path, entry.kind] as const] : [],
  );
  const folders = listOf(value['folders']).filter((folder) => typeof folder === 'string');
  return {
    madeFolder: value['madeFolder'] === true,
    entries: new Map(entries),
    folders: new Set(folders.filter((folder) => whyUnclean(folder) === undefined)),
  };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, maxManifestEntries) : [];
}

function isEntry(value: unknown): value is { readonly path: string; readonly kind: EntryKind } {
  if (!isRecord(value) || (value['kind'] !== 'file' && value['kind'] !== 'database')) return false;
  return typeof value['path'] === 'string' && whyUnclean(value['path']) === undefined;
}

function byPath(one: { readonly path: string }, other: { readonly path: string }): number {
  return one.path < other.path ? -1 : 1;
}

/** Why a path may not stand below a volume's folder, as a phrase; undefined when it may. */
export function whyUnclean(path: string): string | undefined {
  const segments = path.split('/');
  if (path.length > maxPathBytes) return `it is longer than ${maxPathBytes} characters`;
  if (segments.length > maxPathSegments) return `it has more than ${maxPathSegments} parts`;
  if (path.includes('\0')) return 'it has a zero byte';
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..'))
    return 'it is not relative and clean';
  // the first part: `.leafgate-volume` is the manifest
  return segments[0] === manifestName ? 'that name is taken by leafgate' : undefined;
}

/** `a/b` and `a` for `a/b/c` */
export function foldersAbove(path: string): readonly string[] {
  const segments = path.split('/');
  return segments.slice(1).map((_, index) => segments.slice(0, segments.length - 1 - index).join('/'));
}

/** whether the two cannot stand side by side, one being a folder on the way to the other */
export function areNested(one: string, other: string): boolean {
  return one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}

/** Adds what is about to be written; `newFolders` are those that are not there yet. */
export function claim(
  manifest: VolumeManifest,
  wanted: ReadonlyMap<string, EntryKind>,
  newFolders: readonly string[],
): VolumeManifest {
  return {
    ...manifest,
    entries: new Map([...manifest.entries, ...wanted]),
    folders: new Set([...manifest.folders, ...newFolders]),
  };
}

/** Takes away what is gone or never came to be, and the folders that nothing is left in. */
export function release(manifest: VolumeManifest, paths: ReadonlySet<string>): VolumeManifest {
  const entries = new Map([...manifest.entries].filter(([path]) => !paths.has(path)));
  const used = new Set([...entries.keys()].flatMap(foldersAbove));
  return { ...manifest, entries, folders: new Set([...manifest.folders].filter((folder) => used.has(folder))) };
}
