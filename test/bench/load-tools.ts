// The Go load clients, run to their end, their one JSON line read. They are compiled, so that the client's own cost stays
// small beside the server's on the same cores.
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { findTool } from '../support/tools.ts';
import type { ToolName } from '../support/tools.ts';

export type SdsLoad = {
  /** as the contender says */
  readonly reach: readonly string[];
  readonly pid: number;
  readonly transport: 'ads' | 'streams';
  readonly names: number;
  readonly outstanding: number;
  readonly prefix: string;
  /** of the names; one that no contender may mint measures how fast it is refused */
  readonly domain?: string;
  /** verifies every leaf, outside the measured time */
  readonly caFile: string;
  readonly settleMs?: number;
};

export type SdsLoadResult = {
  readonly per_s: number;
  readonly server_cpu_us: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly rss_before_kb: number;
  readonly rss_after_kb: number;
};

type SdsOutcome = {
  readonly granted: number;
  readonly refused: number;
  readonly bad: number;
  readonly complaint?: string;
};

export async function loadSds(load: SdsLoad): Promise<SdsLoadResult> {
  const args = [
    ...[...load.reach, '--pid', String(load.pid), '--transport', load.transport],
    ...['--names', String(load.names), '--outstanding', String(load.outstanding), '--prefix', load.prefix],
    ...['--verify', load.caFile, '--settle', `${load.settleMs ?? 50}ms`],
    ...(load.domain === undefined ? [] : ['--domain', load.domain]),
  ];
  const result = await runTool<SdsLoadResult & SdsOutcome>('sds-load', args);
  const asExpected = load.domain === undefined ? result.granted : result.refused;
  if (asExpected !== load.names || result.bad > 0) {
    const { granted, refused, bad, complaint = '' } = result;
    throw new Error(`of ${load.names} names ${granted} granted, ${refused} refused, ${bad} bad: ${complaint}`);
  }
  return result;
}

export type TlsLoad = {
  readonly port: number;
  readonly caFile: string;
  readonly prefix: string;
  readonly handshakes: number;
  readonly distinct: number;
  readonly parallel: number;
};

export type TlsLoadResult = { readonly per_s: number; readonly p50_ms: number; readonly p99_ms: number };

export async function loadTls(load: TlsLoad): Promise<TlsLoadResult> {
  const args = [
    ...['--address', `127.0.0.1:${load.port}`, '--ca', load.caFile, '--prefix', load.prefix],
    ...['-n', String(load.handshakes), '--distinct', String(load.distinct), '-c', String(load.parallel)],
  ];
  const result = await runTool<TlsLoadResult & { failed: number; complaint?: string }>('tls-load', args);
  if (result.failed > 0) throw new Error(`${result.failed} handshakes failed: ${result.complaint ?? ''}`);
  return result;
}

async function runTool<Result>(name: ToolName, args: readonly string[]): Promise<Result> {
  const found = findTool(name);
  if (found.path === undefined) throw new Error(found.missing);
  const outcome = await runCommand(found.path, args, { env: scrubbedEnvironment('/nonexistent'), deadlineMs: 120_000 });
  if (outcome.status !== 0) throw new Error(`${name} failed: ${outcome.stderr}${outcome.stdout}`);
  return JSON.parse(outcome.stdout) as Result;
}
