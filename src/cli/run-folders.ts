// Temporary folders of gateways that live for one command, named so that those of killed processes can be told and swept.
import { readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processStart } from './state-lock.ts';

/** followed by the process id */
export const runFolderPrefix = 'leafgate-run-';

/** Removes what processes that were killed have left. */
export function sweepRunFolders(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = new RegExp(`^${runFolderPrefix}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || processStart(Number(pid)) !== undefined) continue;
    // somebody else's stays: the system says no
    rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}
