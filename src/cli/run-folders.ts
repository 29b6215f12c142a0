// Temporary folders of gateways that live for one command, named so that those of killed processes can be told and swept.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processStart } from './state-lock.ts';

/** followed by the process id */
export const runFolderPrefix = 'leafgate-run-';

/** A new one of this process. */
export function makeRunFolder(): string {
  return mkdtempSync(join(tmpdir(), `${runFolderPrefix}${process.pid}-`));
}

/** Removes what processes that were killed have left in `parent`, as far as the system lets us: it may be another user's. */
export function sweepRunFolders(parent = tmpdir(), remove: (path: string) => void = removeFolder): void {
  for (const name of readdirSync(parent)) {
    const pid = new RegExp(`^${runFolderPrefix}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || processStart(Number(pid)) !== undefined) continue;
    try {
      remove(join(parent, name));
    } catch {
      // it is in nobody's way
    }
  }
}

function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
