// Facts about a state folder and its pool. Nothing is left behind: whether the folder can be written is tried with an empty
// folder in it, which is removed at once.
import { existsSync, mkdtempSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { epoch, type EpochMs } from '../../clock.ts';
import type { FoundFault, PoolFacts, SocketPathFacts, StateFacts } from '../../doctor/doctor-facts.ts';
import { problemsOf, type LeafgateError } from '../../errors.ts';
import { shortestLeafMs } from '../../mint/mint-settings.ts';
import { parsePool } from '../../pool/parse-pool.ts';
import type { Pool } from '../../pool/pool-types.ts';
import { looseModeOf, readPoolFile } from '../../pool/read-pool-file.ts';
import { maxSocketPathBytes } from '../../socket-path.ts';
import { systemCode, systemReason } from '../../system-error.ts';
import { longestSocketName } from '../gateway-folder.ts';
import { isOfFirstStart, isOurs, readSchema, schemaVersion, type StateFolder } from '../state-folder.ts';
import { lockState } from '../state-lock.ts';

export function gatherState(state: StateFolder): StateFacts {
  const { folder, stateFile, poolFile, lockFile } = state;
  const ours = isOurs(folder);
  const lock = lockState(lockFile);
  return {
    folder,
    notWritableBecause: whyNotWritable(folder),
    mode: modeOf(folder),
    isOurs: ours,
    foreignFile: ours ? undefined : namesIn(folder).find((name) => !isOfFirstStart(name)),
    schema: { found: existsSync(stateFile) ? schemaIn(stateFile) : undefined, known: String(schemaVersion) },
    lock: lock.kind === 'free' ? lock : { ...lock, file: lockFile },
    newestFileAt: newestOf([stateFile, poolFile]),
  };
}

/** undefined where something can be made in the folder, or in the one above it that it would be made in */
function whyNotWritable(folder: string): string | undefined {
  let place = folder;
  try {
    while (!existsSync(place) && place !== dirname(place)) place = dirname(place);
    rmdirSync(mkdtempSync(join(place, '.leafgate-doctor-')));
    return undefined;
  } catch (error) {
    // the folder is there, and still the system says that it is not: /proc and its kin
    return systemCode(error) === 'ENOENT' ? `nothing can be made in ${place}` : `${place}: ${systemReason(error)}`;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function modeOf(folder: string): number | undefined {
  const about = statSync(folder, { throwIfNoEntry: false });
  return about === undefined ? undefined : about.mode & 0o777;
}

function schemaIn(stateFile: string): string {
  try {
    return readSchema(stateFile);
  } catch {
    return 'unreadable';
  }
}

function newestOf(files: readonly string[]): EpochMs | undefined {
  const times = files.flatMap((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? []);
  return times.length === 0 ? undefined : epoch(Math.floor(Math.max(...times)));
}

export type GatheredPool = { readonly facts: PoolFacts; readonly pool: Pool | undefined };

export async function gatherPool(state: StateFolder, now: EpochMs, allowEd25519: boolean): Promise<GatheredPool> {
  const { poolFile: file, stateFile } = state;
  if (!existsSync(file)) {
    return { facts: { file, looseMode: undefined, kind: 'absent', wasThere: existsSync(stateFile) }, pool: undefined };
  }
  const about = { file, looseMode: await looseModeOf(file) };
  try {
    const pool = parsePool(await readPoolFile(file), { source: file, now, allowEd25519, shortestLeafMs });
    const { active, signer, faults } = pool;
    const leftOut = faults.map(faultOf);
    return { facts: { ...about, kind: 'usable', activeId: active.id, notAfter: signer.notAfter, leftOut }, pool };
  } catch (thrown) {
    return { facts: { ...about, kind: 'unusable', faults: faultsOf(thrown) }, pool: undefined };
  }
}

export function faultsOf(thrown: unknown): readonly FoundFault[] {
  return problemsOf(thrown).map(faultOf);
}

function faultOf({ code, message, remedy }: LeafgateError): FoundFault {
  return { code, message, remedy };
}

/** where the sockets would stand, and where they stand when that is too long */
export function gatherSocketPath({ gatewayDir }: StateFolder, temporary = tmpdir()): SocketPathFacts {
  return {
    bytes: Buffer.byteLength(join(gatewayDir, longestSocketName)),
    fallbackBytes: Buffer.byteLength(join(temporary, 'leafgate-XXXXXX', longestSocketName)),
    most: maxSocketPathBytes,
  };
}
