// Makes a folder and those above it that are missing, one by one from the top. Node's own recursive mkdir goes round for
// ever where the system answers ENOENT under a folder that exists, as /proc does (measured, Node 24.22). Must not know
// what the folder is for.
import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { systemCode, systemReason } from './system-error.ts';

/** New folders get `mode`; one that exists is left as it is. Throws an error whose message names the folder and the reason. */
export function makeFolder(path: string, mode = 0o777): void {
  const missing: string[] = [];
  let existing = resolve(path);
  while (!isFolder(existing)) {
    missing.unshift(existing);
    existing = dirname(existing);
  }
  for (const folder of missing) makeOne(folder, mode);
}

function isFolder(path: string): boolean {
  try {
    if (statSync(path).isDirectory()) return true;
  } catch (error) {
    // ENOTDIR: the file that is in the way is higher up
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return path === dirname(path);
    throw failed(path, systemReason(error), error);
  }
  throw failed(path, 'a file has that name', undefined);
}

function makeOne(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    const code = systemCode(error);
    // somebody else was faster
    if (code === 'EEXIST' && isFolder(folder)) return;
    // the folder above it is there
    throw failed(folder, code === 'ENOENT' ? 'no folder can be made there' : systemReason(error), error);
  }
}

function failed(folder: string, reason: string, cause: unknown): Error {
  return new Error(`the folder ${folder} cannot be made: ${reason}`, { cause });
}
