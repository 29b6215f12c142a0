// Whether a command that has left its leafgate behind may still read files of a folder that was made for it.
import { readdirSync, readFileSync } from 'node:fs';

/** Whether a process was started with a variable that names a file of the folder; undecided where there is no /proc: no. */
export function isNamedByProcess(dir: string): boolean {
  const named = Buffer.from(`${dir}/`);
  return processes().some(
    (pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid && environmentOf(pid).includes(named),
  );
}

function environmentOf(pid: string): Buffer {
  try {
    return readFileSync(`/proc/${pid}/environ`);
  } catch {
    // it has ended, or is another user's
    return Buffer.alloc(0);
  }
}

function processes(): readonly string[] {
  try {
    return readdirSync('/proc');
  } catch {
    return [];
  }
}
