// The lock of a state folder: a file that names its holder, taken by an atomic link and judged by whether that process
// still lives, so that a killed gateway leaves nothing to clean by hand. Must not know what the folder holds.
import { randomUUID } from 'node:crypto';
import { linkSync, readdirSync, readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import type { Clock, DurationMs } from '../clock.ts';
import { systemCode } from '../system-error.ts';

export type LockHolder = { readonly pid: number; readonly startedAt: string; readonly token: string };

export type StateLock = { release(): void };

export type LockAttempt =
  { readonly kind: 'held'; readonly lock: StateLock } | { readonly kind: 'taken'; readonly holder: LockHolder };

const holderSchema = z.object({ pid: z.int().positive(), startedAt: z.string(), token: z.string() });

/** enough for every rival to finish its own attempt once */
const mostAttempts = 5;

/** Takes the lock at `path` for this process, taking over what a dead holder left. Throws what the file system throws. */
export function takeLock(path: string): LockAttempt {
  const self: LockHolder = { pid: process.pid, startedAt: processStart(process.pid) ?? '', token: randomUUID() };
  const draft = `${path}.${self.token}`;
  writeFileSync(draft, JSON.stringify(self), { mode: 0o600, flag: 'wx' });
  try {
    for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
      if (linkedAt(draft, path)) {
        removeLeftovers(path);
        return { kind: 'held', lock: { release: () => releaseLock(path, self) } };
      }
      const holder = readHolder(path);
      if (holder !== undefined && isAlive(holder)) return { kind: 'taken', holder };
      moveAside(path, holder, self);
    }
    return { kind: 'taken', holder: readHolder(path) ?? self };
  } finally {
    removeFile(draft);
  }
}

const askAgainMs = 20;

/** Waits for a lock that others hold for milliseconds; who holds it in the end, where it is not let go. */
export async function waitForLock(path: string, clock: Clock, longestWait: DurationMs): Promise<LockAttempt> {
  const giveUpAt = clock.monotonic() + longestWait;
  for (;;) {
    const attempt = takeLock(path);
    if (attempt.kind === 'held' || clock.monotonic() > giveUpAt) return attempt;
    await new Promise<void>((done) => setTimeout(done, askAgainMs));
  }
}

/** What stands at the place of a lock; `left-behind`: its holder has ended without letting go. */
export type LockState = { readonly kind: 'free' } | { readonly kind: 'held' | 'left-behind'; readonly pid: number };

export function lockState(path: string): LockState {
  const holder = readHolder(path);
  if (holder === undefined) return { kind: 'free' };
  return { kind: isAlive(holder) ? 'held' : 'left-behind', pid: holder.pid };
}

/** Who holds the lock now; undefined when nobody alive does. */
export function lockHolder(path: string): LockHolder | undefined {
  const holder = readHolder(path);
  return holder !== undefined && isAlive(holder) ? holder : undefined;
}

function linkedAt(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Moves a dead holder's file away. Two rivals may judge the same file dead; the one that comes second would move the
 * first one's fresh lock, so it looks at what it moved and puts it back.
 */
function moveAside(path: string, judged: LockHolder | undefined, self: LockHolder): void {
  const aside = `${path}.stale-${self.token}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return;
    throw error;
  }
  if (readHolder(aside)?.token !== judged?.token) linkedAt(aside, path);
  removeFile(aside);
}

/** drafts of processes that were killed between two steps; a living rival's own stay */
function removeLeftovers(path: string): void {
  const folder = dirname(path);
  for (const name of readdirSync(folder)) {
    if (!leftover.test(name) || !name.startsWith(`${basename(path)}.`)) continue;
    const file = join(folder, name);
    const holder = readHolder(file);
    // a draft that names nobody is one that was not written to its end, unless it is being written just now
    const isLeft = holder === undefined ? isOlderThan(file, draftMs) : !isAlive(holder);
    if (isLeft) removeFile(file);
  }
}

const leftover = /\.(?:stale-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const draftMs = 60_000;

function isOlderThan(file: string, ageMs: number): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > ageMs;
}

function releaseLock(path: string, self: LockHolder): void {
  if (readHolder(path)?.token === self.token) removeFile(path);
}

function readHolder(path: string): LockHolder | undefined {
  try {
    const parsed = holderSchema.safeParse(JSON.parse(readFileSync(path, 'utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(holder: LockHolder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if (systemCode(error) === 'ESRCH') return false;
  }
  const startedAt = processStart(holder.pid);
  return startedAt === undefined || startedAt === holder.startedAt;
}

/** Start time of a process in clock ticks since boot (proc(5), field 22), so that a re-used pid is not taken for it. */
export function processStart(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}
