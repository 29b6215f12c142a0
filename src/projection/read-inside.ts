// Reads files of a root file system that somebody else fills, an actor: symlinks lead where they would lead for the actor
// and never out of its tree, only plain files are opened, and sizes are bounded. As openat2(2) does with
// RESOLVE_IN_ROOT: each step is held by a descriptor, so that a folder that is swapped meanwhile changes nothing. Linux
// only: Node has no openat, and /proc stands in for it. Must not know what the files say.
import { constants, type Stats } from 'node:fs';
import { open, opendir, readlink, type FileHandle } from 'node:fs/promises';
import { readOpenFile, unreadable, type FileContent } from '../read-regular-file.ts';
import { descriptorPath } from './held-folder.ts';

/** open(2): a hold on what stands there that neither reads it nor wakes a device or a FIFO; the same on x86-64 and arm64 */
const pathOnly = 0o10000000;
/** as in Linux (MAXSYMLINKS) */
const maxLinks = 40;
/** each holds a descriptor while a file is read */
const maxSteps = 256;

/** Never rejects. `path` is absolute within `root`. */
export async function readFileInside(root: string, path: string, maxBytes: number): Promise<FileContent> {
  try {
    return await withFound(root, path, async ({ handle, about }): Promise<FileContent> => {
      if (!about.isFile()) return { kind: 'unreadable', reason: 'it is no regular file' };
      const file = await open(descriptorPath(handle), constants.O_RDONLY);
      try {
        return await readOpenFile(file, maxBytes);
      } finally {
        await file.close();
      }
    });
  } catch (thrown) {
    return unreadable(thrown);
  }
}

/** The names in a folder, sorted, at most `maxNames`; none where there is no folder that can be read. */
export async function listFolderInside(root: string, path: string, maxNames: number): Promise<readonly string[]> {
  try {
    return await withFound(root, path, ({ handle }) => namesIn(descriptorPath(handle), maxNames));
  } catch {
    return [];
  }
}

async function namesIn(folder: string, maxNames: number): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(folder)) {
    if (names.length === maxNames) break;
    names.push(name);
  }
  return names.toSorted();
}

type Found = { readonly handle: FileHandle; readonly about: Stats };

async function withFound<T>(root: string, path: string, use: (found: Found) => Promise<T>): Promise<T> {
  if (process.platform !== 'linux') throw new Error('a root file system of its own is read on Linux only');
  const held: FileHandle[] = [];
  try {
    return await use(await walk(root, path, held));
  } finally {
    for (const handle of held) await handle.close();
  }
}

/** Every handle that is opened is put into `held`. */
async function walk(root: string, path: string, held: FileHandle[]): Promise<Found> {
  const hold = async (at: string, flags: number): Promise<Found> => {
    if (held.length === maxSteps) throw new Error('the way there is too long');
    const handle = await open(at, flags);
    held.push(handle);
    return { handle, about: await handle.stat() };
  };
  const top = await hold(root, pathOnly | constants.O_DIRECTORY);
  let way: readonly Found[] = [top];
  const left = segmentsOf(path);
  let links = 0;
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    // above the root is the root
    const here = way.at(-1) ?? top;
    if (name === '..') {
      way = way.slice(0, -1);
      continue;
    }
    const at = `${descriptorPath(here.handle)}/${name}`;
    const found = await hold(at, pathOnly | constants.O_NOFOLLOW);
    if (!found.about.isSymbolicLink()) {
      way = [...way, found];
      continue;
    }
    links += 1;
    if (links > maxLinks) throw new Error('too many symbolic links');
    const target = await readlink(at);
    if (target.startsWith('/')) way = [top];
    left.unshift(...segmentsOf(target));
  }
  return way.at(-1) ?? top;
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}
