// The Go load clients, run to their end, their one JSON line read. They are compiled, so that the client's own cost stays
// small beside the server's on the same cores.
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { findTool } from '../support/tools.ts';
import type { ToolName } from '../support/tools.ts';

export type SdsLoad = {
  readonly socket: string;
  readonly pid: number;
  readonly transport: 'ads' | 'streams';
  readonly names: number;
  readonly outstanding: number;
  readonly prefix: string;
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

export async function loadSds(load: SdsLoad): Promise<SdsLoadResult> {
  const args = [
    ...['--socket', load.socket, '--pid', String(load.pid), '--transport', load.transport],
    ...['--names', String(load.names), '--outstanding', String(load.outstanding), '--prefix', load.prefix],
    ...['--verify', load.caFile, '--settle', `${load.settleMs ?? 50}ms`],
  ];
  const result = await runTool<SdsLoadResult & { granted: number; bad: number; complaint?: string }>('sds-load', args);
  if (result.granted !== load.names || result.bad > 0) {
    throw new Error(`${load.names - result.granted} not granted, ${result.bad} bad: ${result.complaint ?? ''}`);
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
