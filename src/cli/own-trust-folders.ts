// The folders with the files of commands and shells whose owner trusts more than the gateway: whoever uses one says so in it,
// and one that nobody uses any more goes. What is decided about them is decided under one lock, so that none goes while
// another command comes to use it. Must not know what is in their files.
import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { days, seconds, type Clock } from '../clock.ts';
import { makeFolder } from '../make-folder.ts';
import { ownTrustFile } from '../projection/write-own-trust.ts';
import { innerSystemCode } from '../system-error.ts';
import { isNamedByProcess } from './named-by-process.ts';
import { makeRunFolder } from './run-folders.ts';
import { lockHolder, takeLock, waitForLock, type StateLock } from './state-lock.ts';

/** Gives the folder of a set, which stays for as long as it is used. Throws what the file system throws. */
export type ClaimFolder = (name: string) => Promise<string>;

export type FoldersPlace = { readonly root: string; readonly clock: Clock };

export type CommandClaims = {
  readonly claim: ClaimFolder;
  /** whether folders had to be made where no gateway renews their files, since nobody may write to the root */
  readonly isElsewhere: () => boolean;
  /** The command has ended: what nobody else uses is taken away. Never rejects. */
  readonly release: () => Promise<void>;
};

/** everything in it is decided in milliseconds */
const lockWait = seconds(10);
const folderName = /^[0-9a-f]{16}$/;
/** a lock of the process that uses the folder: it counts for as long as that process lives */
const claimName = /^held-by-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** of shells, which nobody can see end: they have asked for the folder when this file was written */
const shellsName = 'for-shells';
const shellsKeep = days(30);

/** For a command: its claims end with it, also when this process is killed. */
export function claimsOfCommand(place: FoldersPlace): CommandClaims {
  const claims = new Map<string, Claim>();
  let elsewhere: string | undefined;
  return {
    claim: async (name) => {
      const dir = join(place.root, name);
      try {
        if (!claims.has(dir)) claims.set(dir, await underLock(place, () => newClaim(dir)));
        return dir;
      } catch (thrown) {
        if (!isForbidden(thrown)) throw thrown;
        elsewhere ??= makeRunFolder();
        makeFolder(join(elsewhere, name), 0o700);
        return join(elsewhere, name);
      }
    },
    isElsewhere: () => elsewhere !== undefined,
    release: async () => {
      if (elsewhere !== undefined && !isNamedByProcess(elsewhere)) removeFolder(elsewhere);
      if (claims.size === 0) return;
      const leaveAll = (): void => claims.forEach((claim, dir) => leave(dir, claim, place.clock));
      // what stays is swept at the next start
      await underLock(place, leaveAll).catch(() => undefined);
    },
  };
}

function isForbidden(thrown: unknown): boolean {
  return ['EROFS', 'EACCES', 'EPERM'].includes(innerSystemCode(thrown) ?? '');
}

/** For shells that name the folder from now on. */
export function claimForShells(place: FoldersPlace): ClaimFolder {
  return async (name) => {
    const dir = join(place.root, name);
    const now = new Date(place.clock.now());
    await underLock(place, () => {
      makeFolder(dir, 0o700);
      writeFileSync(join(dir, shellsName), '', { mode: 0o600 });
      utimesSync(join(dir, shellsName), now, now);
    });
    return dir;
  };
}

/** Takes away what killed processes left, and what no shell has asked for lately. Never rejects. */
export async function sweepOwnTrust(place: FoldersPlace): Promise<void> {
  const folders = namesIn(place.root).filter((name) => folderName.test(name));
  if (folders.length === 0) return;
  const sweepAll = (): void => {
    for (const name of folders) {
      const dir = join(place.root, name);
      if (!isUsed(dir, place.clock) && !isNamedByProcess(dir)) removeFolder(dir);
    }
  };
  // a folder that cannot be written to is in nobody's way
  await underLock(place, sweepAll).catch(() => undefined);
}

async function underLock<T>({ root, clock }: FoldersPlace, act: () => T): Promise<T> {
  makeFolder(root, 0o700);
  const attempt = await waitForLock(join(root, 'lock'), clock, lockWait);
  if (attempt.kind === 'taken') throw new Error(`process ${attempt.holder.pid} holds the lock of ${root}`);
  try {
    return act();
  } finally {
    attempt.lock.release();
  }
}

type Claim = { readonly name: string; readonly lock: StateLock };

function newClaim(dir: string): Claim {
  makeFolder(dir, 0o700);
  const name = `held-by-${randomUUID()}`;
  const attempt = takeLock(join(dir, name));
  if (attempt.kind === 'taken') throw new Error(`${dir} cannot be claimed`);
  return { name, lock: attempt.lock };
}

function leave(dir: string, { name, lock }: Claim, clock: Clock): void {
  // what the command has left behind may still read it: the claim then stays, and ends with us
  if (isUsed(dir, clock, name)) lock.release();
  else if (!isNamedByProcess(dir)) removeFolder(dir);
}

function isUsed(dir: string, clock: Clock, apartFrom?: string): boolean {
  const names = namesIn(dir);
  const claims = names.filter((name) => claimName.test(name));
  if (claims.some((name) => name !== apartFrom && lockHolder(join(dir, name)) !== undefined)) return true;
  // an older leafgate told nobody who uses a folder
  const told = names.includes(shellsName) ? shellsName : claims.length === 0 ? ownTrustFile : undefined;
  const asked = told === undefined ? undefined : statSync(join(dir, told), { throwIfNoEntry: false });
  return asked !== undefined && clock.now() - asked.mtimeMs < shellsKeep;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function removeFolder(dir: string): void {
  rmSync(dir, { recursive: true, force: true });
}
