// Whether a process runs, looked up by its id.
import { readFileSync } from 'node:fs';

/** a zombie waits only to be counted as ended */
export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return false;
  }
}
