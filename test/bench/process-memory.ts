// What a process keeps in memory, as the kernel counts it.
import { readFileSync } from 'node:fs';
import { residentKb } from './contenders.ts';

export function residentMb(pid: number): number {
  return residentKb(pid) / 1024;
}

/** without what is a file's, which processes of the same program share (proc(5), smaps) */
export function ownMb(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Anonymous:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) / 1024;
}
