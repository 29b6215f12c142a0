// A folder of a test's own, 0700, removed when asked, when the process ends, or, if that was killed, by the next test
// run: the name carries the owner's pid. Short paths, since a unix socket's may have 107 bytes only (unix(7)).
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type TempFolder = {
  readonly path: string;
  file(name: string): string;
  remove(): void;
};

const prefix = 'lgtest-';

export function createTempFolder(): TempFolder {
  removeLeftovers();
  const path = mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`));
  const remove = (): void => {
    process.removeListener('exit', remove);
    rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  };
  process.on('exit', remove);
  return { path, file: (name) => join(path, name), remove };
}

function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = /^lgtest-(\d+)-/.exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) {
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, as another user
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
