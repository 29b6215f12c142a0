// The note that `up` leaves in the state folder for `run`: where the gateway listens and where its trust files are.
// It counts only while the lock's holder lives and is the one that wrote it.
import { readFileSync, rmSync } from 'node:fs';
import { z } from 'zod';
import { replaceFile } from '../replace-file.ts';
import type { SettingValues } from './running-settings.ts';
import type { StateFolder } from './state-folder.ts';
import { lockHolder } from './state-lock.ts';

export type RunningGatewayNote = {
  readonly pid: number;
  readonly proxyUrl: string;
  readonly caFile: string;
  readonly mergedFile: string;
  readonly wgetrcFile: string;
  /** where it serves health and metrics: `127.0.0.1:9090` or `unix:/path` */
  readonly healthAddress: string;
  readonly adminSocket: string;
  readonly sdsSocket: string;
  /** the rules that decide now */
  readonly policyInForce: string;
  /** what it was started with */
  readonly settings: SettingValues;
};

const noteSchema = z.object({
  pid: z.int().positive(),
  proxyUrl: z.string(),
  caFile: z.string(),
  mergedFile: z.string(),
  wgetrcFile: z.string(),
  healthAddress: z.string(),
  adminSocket: z.string(),
  sdsSocket: z.string(),
  policyInForce: z.string(),
  settings: z.record(z.string(), z.union([z.string(), z.array(z.string()), z.boolean()])).default({}),
});

export async function writeGatewayNote(state: StateFolder, note: RunningGatewayNote): Promise<void> {
  await replaceFile(state.gatewayFile, `${JSON.stringify(note)}\n`, 0o600);
}

export function removeGatewayNote(state: StateFolder): void {
  rmSync(state.gatewayFile, { force: true });
}

/** The gateway that runs on this state folder now; undefined when none does or it is still starting. */
export function findRunningGateway(state: StateFolder): RunningGatewayNote | undefined {
  const holder = lockHolder(state.lockFile);
  if (holder === undefined) return undefined;
  const note = readGatewayNote(state.gatewayFile);
  return note?.pid === holder.pid ? note : undefined;
}

/** The note as it was left, whether or not its gateway still runs. */
export function readGatewayNote(path: string): RunningGatewayNote | undefined {
  try {
    const parsed = noteSchema.safeParse(JSON.parse(readFileSync(path, 'utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
