// The state folder of `up` and `run`: one CA pool, made once, and what a running gateway writes. Its schema version
// keeps another version of leafgate from misreading it. Must not know what runs on it.
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { seconds, type Clock } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { makeFolder } from '../make-folder.ts';
import { createPool } from '../pool/create-pool.ts';
import { writeNewPoolFile } from '../pool/write-pool-file.ts';
import { replaceFile } from '../replace-file.ts';
import { systemReason } from '../system-error.ts';
import { givenTexts, type SettingSource } from '../settings/read-settings.ts';
import { textSettings } from '../settings/text-settings.ts';
import { cliErrors } from './cli-errors.ts';
import { waitForLock, type StateLock } from './state-lock.ts';

/** raised when a file of the folder changes its meaning; an older or newer leafgate then refuses the folder */
export const schemaVersion = 1;

const stateSchema = z.object({ schema: z.int() });

export type StateFolder = {
  readonly folder: string;
  /** says which schema the folder has */
  readonly stateFile: string;
  readonly poolFile: string;
  /** held by `up` for as long as it runs */
  readonly lockFile: string;
  /** what `run` reads to find a running gateway */
  readonly gatewayFile: string;
  /** where `up` keeps what its gateway writes */
  readonly gatewayDir: string;
};

type Environment = { readonly [name: string]: string | undefined };

/** `--state`, else `$XDG_STATE_HOME/leafgate`, else `~/.local/state/leafgate` (XDG Base Directory Specification). */
export function stateFolderPath(option: string | undefined, env: Environment): string {
  if (option === '') throw cliErrors.error('state-folder-unknown', { detail: '--state is empty' });
  if (option !== undefined) return resolve(option);
  const stateHome = env['XDG_STATE_HOME'];
  if (stateHome !== undefined && isAbsolute(stateHome)) return join(stateHome, 'leafgate');
  if (!isAbsolute(homedir())) throw cliErrors.error('state-folder-unknown', { detail: 'HOME is not a folder' });
  return join(homedir(), '.local', 'state', 'leafgate');
}

/** The folder that a call is about, whether or not it exists. @throws state-folder-unknown */
export function chosenState(source: SettingSource, env: Environment): StateFolder {
  return knownState(stateFolderPath(givenTexts(textSettings.state, source).at(-1)?.text, env));
}

export type OpenedState = { readonly state: StateFolder; readonly poolCreated: boolean };

/**
 * Opens the folder, making it and its pool on the first use. A pool that was there and is gone is an error: a new CA
 * made in silence would break every client that trusted the old one.
 * @throws state-folder-unusable, state-folder-foreign, state-folder-open, state-schema-unknown, state-pool-missing
 */
export async function openStateFolder(folder: string, clock: Clock): Promise<OpenedState> {
  const state = knownState(folder);
  makePrivateFolder(folder);
  const setup = await takeSetupLock(join(folder, 'setup.lock'), folder, clock);
  try {
    return { state, poolCreated: await ensurePool(state, clock) };
  } finally {
    setup.release();
  }
}

/** The paths of a state folder, whether or not it exists. */
export function knownState(folder: string): StateFolder {
  return {
    folder,
    stateFile: join(folder, 'state.json'),
    poolFile: join(folder, 'pool.json'),
    lockFile: join(folder, 'gateway.lock'),
    gatewayFile: join(folder, 'gateway.json'),
    gatewayDir: join(folder, 'gateway'),
  };
}

/**
 * A folder that may be somebody else's to write to, looked at as it is; undefined where there is none of ours.
 * @throws state-folder-open, state-schema-unknown
 */
export function existingState(folder: string): StateFolder | undefined {
  if (!isOurs(folder)) return undefined;
  needPrivate(folder);
  const state = knownState(folder);
  if (existsSync(state.stateFile)) checkSchema(folder, state.stateFile);
  return state;
}

function needPrivate(folder: string): void {
  const mode = statSync(folder).mode & 0o777;
  if ((mode & 0o077) !== 0) throw cliErrors.error('state-folder-open', { folder, mode: mode.toString(8) });
}

function makePrivateFolder(folder: string): void {
  try {
    makeFolder(folder, 0o700);
    if (isOurs(folder)) {
      needPrivate(folder);
    } else if (readdirSync(folder).some((name) => !isOfFirstStart(name))) {
      throw cliErrors.error('state-folder-foreign', { folder });
    } else {
      chmodSync(folder, 0o700);
    }
  } catch (error) {
    throw unusable(folder, error);
  }
}

/** what a first start that was killed leaves: its lock, and a pool that never got its name */
export function isOfFirstStart(name: string): boolean {
  return name.startsWith('setup.lock') || name.startsWith('pool.json.');
}

export function isOurs(folder: string): boolean {
  return existsSync(join(folder, 'state.json')) || existsSync(join(folder, 'pool.json'));
}

async function ensurePool(state: StateFolder, clock: Clock): Promise<boolean> {
  const { stateFile } = state;
  const isKnown = existsSync(stateFile);
  if (isKnown) checkSchema(state.folder, stateFile);
  if (existsSync(state.poolFile)) {
    if (!isKnown) await writeStateFile(stateFile, state.folder);
    return false;
  }
  if (isKnown) throw cliErrors.error('state-pool-missing', { folder: state.folder, file: state.poolFile });
  await writeNewPoolFile(state.poolFile, createPool({ now: clock.now(), randomBytes: (count) => randomBytes(count) }));
  await writeStateFile(stateFile, state.folder);
  return true;
}

/** `unreadable` where the file says none. Throws what the file system throws. */
export function readSchema(stateFile: string): string {
  const text = readFileSync(stateFile, 'utf8');
  try {
    const parsed = stateSchema.safeParse(JSON.parse(text));
    return parsed.success ? String(parsed.data.schema) : 'unreadable';
  } catch {
    return 'unreadable';
  }
}

function checkSchema(folder: string, stateFile: string): void {
  let found: string;
  try {
    found = readSchema(stateFile);
  } catch (error) {
    throw unusable(folder, error);
  }
  if (found !== String(schemaVersion)) {
    throw cliErrors.error('state-schema-unknown', { folder, found, known: schemaVersion });
  }
}

async function writeStateFile(path: string, folder: string): Promise<void> {
  const text = `${JSON.stringify({ schema: schemaVersion })}\n`;
  await replaceFile(path, text, 0o600).catch((error: unknown) => {
    throw unusable(folder, error);
  });
}

/** two first starts at once: the second waits for the first to finish its set-up, which takes milliseconds */
const setupWait = seconds(10);

async function takeSetupLock(path: string, folder: string, clock: Clock): Promise<StateLock> {
  const attempt = await waitForLock(path, clock, setupWait).catch((error: unknown) => {
    throw unusable(folder, error);
  });
  if (attempt.kind === 'held') return attempt.lock;
  const detail = `process ${attempt.holder.pid} holds its set-up lock`;
  throw cliErrors.error('state-folder-unusable', { folder, detail });
}

function unusable(folder: string, error: unknown): Error {
  if (error instanceof LeafgateError) return error;
  return cliErrors.error('state-folder-unusable', { folder, detail: systemReason(error) }, error);
}
