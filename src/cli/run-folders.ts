// Temporary folders of what lives for one command, its gateway or its trust files, named so that those of killed processes can be told and swept.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isNamedByProcess } from './named-by-process.ts';
import { processStart } from './state-lock.ts';

/** followed by the process id */
export const runFolderPrefix = 'leafgate-run-';

/** A new one of this process. */
export function makeRunFolder(): string {
  return mkdtempSync(join(tmpdir(), `${runFolderPrefix}${process.pid}-`));
}

/** Removes what processes that were killed have left in `parent`, as far as the system lets us: it may be another user's. */
export function sweepRunFolders(parent = tmpdir(), remove: (path: string) => void = removeFolder): void {
  for (const name of namesIn(parent)) {
    const pid = new RegExp(`^${runFolderPrefix}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || processStart(Number(pid)) !== undefined) continue;
    const path = join(parent, name);
    try {
      if (!isNamedByProcess(path)) remove(path);
    } catch {
      // it is in nobody's way
    }
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // whoever needs it will say what is wrong with it
    return [];
  }
}

function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
