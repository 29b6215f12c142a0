// What runs on a state folder, asked of the gateway itself and of its Envoy: one value for people and programs. Whoever
// does not answer is told, never left out in silence.
import { readFileSync } from 'node:fs';
import { createAdminClient } from '../envoy/admin-client.ts';
import { readRunningEnvoy, type RunningEnvoy } from '../envoy/running-envoy.ts';
import { LeafgateError } from '../errors.ts';
import { askHealth } from './ask-health.ts';
import { parseGatewayStatus, type GatewayStatus } from './gateway-status.ts';
import { readSamples, sumOf, type Samples } from './read-samples.ts';
import { readGatewayNote } from './running-gateway-file.ts';
import type { StateFolder } from './state-folder.ts';
import { lockHolder } from './state-lock.ts';

export type Counts = {
  readonly liveNames: number;
  readonly minted: number;
  readonly cached: number;
  readonly refusedNames: number;
  /** NACKs of Envoy; must stay 0 */
  readonly rejectedByEnvoy: number;
  readonly records: { readonly [decision: string]: number };
  readonly failedRecords: number;
  /** lines of records or log that reached nobody */
  readonly lost: number;
};

export type EnvoyFacts = (RunningEnvoy & { readonly memoryBytes?: number }) | { readonly problem: string };

export type RunningStatus =
  | { readonly kind: 'none'; readonly stateFolder: string }
  /** a process holds the folder, and its gateway is not up yet, or not any more */
  | { readonly kind: 'changing'; readonly stateFolder: string; readonly pid: number }
  | { readonly kind: 'silent'; readonly stateFolder: string; readonly pid: number; readonly problem: string }
  | {
      readonly kind: 'running';
      readonly stateFolder: string;
      readonly status: GatewayStatus;
      /** undefined where it could not be asked */
      readonly counts: Counts | undefined;
      readonly memoryBytes: number | undefined;
      readonly envoy: EnvoyFacts;
    };

export async function readRunningStatus(state: StateFolder): Promise<RunningStatus> {
  const stateFolder = state.folder;
  const holder = lockHolder(state.lockFile);
  if (holder === undefined) return { kind: 'none', stateFolder };
  const note = readGatewayNote(state.gatewayFile);
  if (note?.pid !== holder.pid) return { kind: 'changing', stateFolder, pid: holder.pid };
  const health = await readHealth(note.healthAddress);
  if (health.kind === 'silent') return { kind: 'silent', stateFolder, pid: note.pid, problem: health.reason };
  const { status, counts } = health;
  return {
    ...{ kind: 'running', stateFolder, status, counts, memoryBytes: residentBytes(note.pid) },
    envoy: await readEnvoy(note.adminSocket, status.gateway?.envoyPid),
  };
}

export type HealthReading =
  | { readonly kind: 'silent'; readonly reason: string }
  | { readonly kind: 'said'; readonly status: GatewayStatus; readonly counts: Counts | undefined };

export async function readHealth(address: string): Promise<HealthReading> {
  const answer = await askHealth(address, '/status');
  if (answer.kind === 'silent') return answer;
  const status = parseGatewayStatus(answer.body);
  if (status === undefined) return { kind: 'silent', reason: `what answers there is no gateway (${answer.status})` };
  const metrics = await askHealth(address, '/metrics');
  const isRead = metrics.kind === 'answer' && metrics.status === 200;
  return { kind: 'said', status, counts: isRead ? countsOf(readSamples(metrics.body)) : undefined };
}

async function readEnvoy(adminSocket: string, pid: number | undefined): Promise<EnvoyFacts> {
  try {
    const running = await readRunningEnvoy(createAdminClient(adminSocket));
    const memoryBytes = pid === undefined ? undefined : residentBytes(pid);
    return { ...running, ...(memoryBytes === undefined ? {} : { memoryBytes }) };
  } catch (thrown) {
    return { problem: LeafgateError.from(thrown).message };
  }
}

function countsOf(samples: Samples): Counts {
  const decisions = ['intercept', 'relay', 'tcp', 'deny'];
  const records = 'leafgate_records_total';
  return {
    liveNames: sumOf(samples, 'leafgate_sds_live_names'),
    minted: sumOf(samples, 'leafgate_leaves_minted_total'),
    cached: sumOf(samples, 'leafgate_leaf_cache_hits_total'),
    refusedNames: sumOf(samples, 'leafgate_names_refused_total'),
    rejectedByEnvoy: sumOf(samples, 'leafgate_sds_nacks_total'),
    records: Object.fromEntries(decisions.map((decision) => [decision, sumOf(samples, records, { decision })])),
    failedRecords: sumOf(samples, records, { outcome: 'failed' }),
    lost: sumOf(samples, 'leafgate_record_lines_lost_total') + sumOf(samples, 'leafgate_log_lines_lost_total'),
  };
}

/** proc(5), VmRSS; undefined where the system has no such file */
function residentBytes(pid: number): number | undefined {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  } catch {
    return undefined;
  }
}
