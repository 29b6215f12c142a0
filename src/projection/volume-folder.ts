// A volume's own folder and the manifest in it: opened, made where it is missing, and taken away again when leafgate made
// it. Must not know which files go into it.
import { constants } from 'node:fs';
import { lstat, open, rmdir, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../make-folder.ts';
import { manifestName } from '../settings/trust-volume.ts';
import { systemCode } from '../system-error.ts';
import {
  finishFolder,
  isUnfinished,
  makeUnfinished,
  markUnfinished,
  openTop,
  type Access,
  type Folder,
} from './held-folder.ts';
import { placeFile, type WriteStep } from './place-file.ts';
import { namesIn } from './remove-entries.ts';
import { volumeErrors } from './volume-errors.ts';
import {
  emptyManifest,
  maxManifestBytes,
  parseManifest,
  printManifest,
  type VolumeManifest,
} from './volume-manifest.ts';

export type VolumeFolder = { readonly top: Folder; readonly manifest: VolumeManifest };

export type VolumeFolderOptions = {
  readonly dir: string;
  readonly folderAccess: Access;
  readonly afterStep: (step: WriteStep) => void;
};

/** undefined where there is none; the caller closes `top.handle` */
export async function openVolumeFolder(dir: string): Promise<VolumeFolder | undefined> {
  let top: Folder;
  try {
    top = await openTop(dir);
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
  return await closeOnFailure(top, async () => ({ top, manifest: await readManifest(top) }));
}

/** Made where it is missing, with those above it. */
export async function makeVolumeFolder(options: VolumeFolderOptions): Promise<VolumeFolder> {
  const { dir, folderAccess, afterStep } = options;
  let found = await openVolumeFolder(dir);
  if (found === undefined) {
    makeFolder(dirname(dir), folderAccess.mode);
    await makeUnfinished(dir);
    afterStep('folder-made');
    found = await openVolumeFolder(dir);
  }
  if (found === undefined) throw await vanished(dir);
  const { top, manifest } = found;
  return await closeOnFailure(top, async () => {
    if (!(await isUnfinished(top))) return { top, manifest };
    // first that it is ours, then what makes it look like any other
    const made = { ...manifest, madeFolder: true };
    await saveManifest(top, made, afterStep);
    await finishFolder(top, folderAccess);
    afterStep('folder-finished');
    return { top, manifest: made };
  });
}

async function vanished(path: string): Promise<Error> {
  const isLink = (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true;
  if (isLink) return new Error('it is a symbolic link that leads nowhere');
  return volumeErrors.error('volume-file-not-written', { path, detail: 'the folder vanishes', reason: 'ENOENT' });
}

async function closeOnFailure<T>(folder: Folder, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (thrown) {
    await folder.handle.close();
    throw thrown;
  }
}

/** What is no manifest of ours, and what cannot be read, is none: then nothing there counts as written by leafgate. */
async function readManifest(top: Folder): Promise<VolumeManifest> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(top.at(manifestName), flags).catch(() => undefined);
  if (handle === undefined) return emptyManifest;
  try {
    const about = await handle.stat();
    if (!about.isFile() || about.size > maxManifestBytes) return emptyManifest;
    const content = Buffer.alloc(about.size);
    const { bytesRead } = await handle.read(content, 0, content.length, 0);
    return parseManifest(content.subarray(0, bytesRead).toString('utf8')) ?? emptyManifest;
  } finally {
    await handle.close();
  }
}

/** paths of files that anybody sees in the folder anyway; another user's leafgate may come after this one */
const manifestMode = 0o644;

export async function saveManifest(
  top: Folder,
  manifest: VolumeManifest,
  afterStep: (step: WriteStep) => void,
): Promise<void> {
  const bytes = Buffer.from(printManifest(manifest));
  await placeFile(top, { name: manifestName, bytes, access: { mode: manifestMode, owner: undefined }, afterStep });
}

/** When nothing is left in it that leafgate wrote: the manifest goes, and the folder, if it was made here and is empty. */
export async function removeVolumeFolder(options: VolumeFolderOptions, { top, manifest }: VolumeFolder): Promise<void> {
  const { dir, folderAccess, afterStep } = options;
  const isAlone = (await namesIn(top)).every((name) => name === manifestName);
  const isOurs = isAlone && (manifest.madeFolder || (await isUnfinished(top)));
  if (isOurs) await markUnfinished(top);
  if (manifest !== emptyManifest) await unlink(top.at(manifestName)).catch(unlessGone);
  afterStep('entry-removed');
  if (!isOurs) return;
  try {
    await rmdir(dir);
  } catch (thrown) {
    unlessGone(thrown);
    // somebody put something into it meanwhile, or a link leads here: theirs from now on
    await finishFolder(top, folderAccess);
  }
}

function unlessGone(thrown: unknown): void {
  const code = systemCode(thrown) ?? '';
  if (!['ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'].includes(code)) throw thrown;
}
