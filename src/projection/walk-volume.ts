// The way from a volume's folder to the folder of one of its files, step by step and never through a link. Must not know
// what is done there.
import { join } from 'node:path';
import {
  enter,
  finishFolder,
  isUnfinished,
  lookUp,
  makeUnfinished,
  syncFolder,
  type Access,
  type Folder,
} from './held-folder.ts';
import type { WriteStep } from './place-file.ts';
import { volumeErrors } from './volume-errors.ts';

export type NewFolders = { readonly access: Access; readonly afterStep: (step: WriteStep) => void };

/**
 * What `use` makes of the folder `path` below `top` (`''` is `top` itself). Where it is not there it is made as `make`
 * says; without that, undefined. Throws `volume-entry-unsafe` for what is no folder, and what the system says.
 */
export async function within<T>(
  top: Folder,
  path: string,
  use: (folder: Folder) => Promise<T>,
  make?: NewFolders,
): Promise<T | undefined> {
  let folder = top;
  try {
    for (const name of path === '' ? [] : path.split('/')) {
      const next = await (make === undefined ? enter(folder, name) : enterOrMake(folder, name, make));
      if (next === undefined) return undefined;
      const last = folder;
      folder = next;
      if (last !== top) await last.handle.close();
    }
    return await use(folder);
  } finally {
    if (folder !== top) await folder.handle.close();
  }
}

async function enterOrMake(folder: Folder, name: string, { access, afterStep }: NewFolders): Promise<Folder> {
  let inner = await enter(folder, name);
  if (inner === undefined) {
    await makeUnfinished(folder.at(name));
    afterStep('folder-made');
    inner = await enter(folder, name);
  }
  if (inner === undefined) {
    const path = join(folder.path, name);
    throw volumeErrors.error('volume-file-not-written', { path, detail: 'the folder vanishes', reason: 'ENOENT' });
  }
  // made just now, or by a run that was killed before it was done
  if (await isUnfinished(inner)) {
    await finishFolder(inner, access);
    await syncFolder(folder);
    afterStep('folder-finished');
  }
  return inner;
}

/** Those of `folders` that are not there. */
export async function missingFolders(top: Folder, folders: readonly string[]): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const path of folders) {
    const { above, name } = split(path);
    const found = await within(top, above, (folder) => lookUp(folder, name)).catch(() => undefined);
    if (found === undefined) missing.push(path);
  }
  return missing;
}

/** `above` is `''` for what stands in the volume's folder itself */
export function split(path: string): { readonly above: string; readonly name: string } {
  const at = path.lastIndexOf('/');
  return { above: path.slice(0, Math.max(at, 0)), name: path.slice(at + 1) };
}
