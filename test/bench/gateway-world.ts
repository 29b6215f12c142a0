// Around the proxies that the bench compares: one origin that costs next to nothing, under every name of bench.test, the
// names' DNS server, and the load client.
import { readFileSync, writeFileSync } from 'node:fs';
import { caPem, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { runCommand, startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { startScriptedDns, type ScriptedDns } from '../support/scripted-dns.ts';
import type { TempFolder } from '../support/temp-folder.ts';
import { findTool, type ToolName } from '../support/tools.ts';

export type GatewayWorld = {
  readonly folder: TempFolder;
  readonly originPort: number;
  readonly originCaFile: string;
  readonly dnsPort: number;
  stop(): Promise<void>;
};

export type ProxyUnderTest = {
  /** undefined: no proxy */
  readonly port: number | undefined;
  /** what signs the leaves that a client sees */
  readonly caFile: string;
  /** all processes that a request costs */
  readonly pids: readonly number[];
  stop(): Promise<void>;
};

export async function startGatewayWorld(folder: TempFolder): Promise<GatewayWorld> {
  const ca = makeCurrentCa('origins of the bench');
  const { certificatePem, keyPem } = issueCredential(ca, { dnsNames: ['*.bench.test'], purposes: ['server'] });
  const files = { ca: folder.file('origin-ca.pem'), cert: folder.file('origin.pem'), key: folder.file('origin.key') };
  writeFileSync(files.ca, caPem(ca));
  writeFileSync(files.cert, certificatePem);
  writeFileSync(files.key, keyPem, { mode: 0o600 });
  const dns: ScriptedDns = await startScriptedDns({ otherwise: ['127.0.0.1'] });
  const { child, port } = await startListening('tls-origin', ['-cert', files.cert, '-key', files.key]);
  return {
    folder,
    originPort: port,
    originCaFile: files.ca,
    dnsPort: dns.port,
    stop: async () => {
      await child.stop();
      await dns.close();
    },
  };
}

/** a program that prints the port it was given */
export async function startListening(
  tool: ToolName,
  args: readonly string[],
): Promise<{ readonly child: StartedProcess; readonly port: number }> {
  const child = startProcess(pathOf(tool), args, { env: scrubbedEnvironment('/nonexistent') });
  const [, port = ''] = await child.waitForOutput(/listening on (\d+)/, 20_000);
  return { child, port: Number(port) };
}

export function pathOf(tool: ToolName): string {
  const found = findTool(tool);
  if (found.path === undefined) throw new Error(found.missing);
  return found.path;
}

export type ProxyLoad = {
  readonly connections: number;
  readonly parallel?: number;
  readonly requests?: number;
  /** one name for all, unless it says how many */
  readonly names?: number;
  readonly prefix: string;
};

type Latencies = { readonly p50_ms: number; readonly p99_ms: number };
export type ProxyLoadResult = {
  readonly failed: number;
  readonly complaint?: string;
  readonly per_s: number;
  readonly cpu_us: number;
  /** of a new connection with its first answer */
  readonly first: Latencies;
  /** of a request on an open connection */
  readonly next: Latencies;
};

export async function loadProxy(world: GatewayWorld, proxy: ProxyUnderTest, load: ProxyLoad): Promise<ProxyLoadResult> {
  const options = { env: scrubbedEnvironment('/nonexistent'), deadlineMs: 300_000 };
  const { status, stdout, stderr } = await runCommand(pathOf('proxy-load'), argumentsOf(world, proxy, load), options);
  if (status !== 0) throw new Error(`proxy-load failed: ${stderr}${stdout}`);
  return checked(stdout);
}

/** Opens connections that stay while `look` looks. */
export async function whileHeld<Seen>(
  { world, proxy, load }: { readonly world: GatewayWorld; readonly proxy: ProxyUnderTest; readonly load: ProxyLoad },
  look: () => Seen,
): Promise<Seen> {
  const args = [...argumentsOf(world, proxy, load), '-hold'];
  // a fifo that nobody writes to: the input of the client does not end before it is told to
  const child = startProcess('/bin/sh', ['-c', 'sleep 600 | exec "$0" "$@"', pathOf('proxy-load'), ...args], {
    env: scrubbedEnvironment('/nonexistent'),
  });
  try {
    const [line] = await child.waitForOutput(/^\{.*\}$/m, 120_000);
    checked(line);
    return look();
  } finally {
    await child.stop();
  }
}

function argumentsOf(world: GatewayWorld, proxy: ProxyUnderTest, load: ProxyLoad): readonly string[] {
  return [
    ...(proxy.port === undefined ? [] : ['-proxy', `127.0.0.1:${proxy.port}`]),
    ...['-port', String(world.originPort), '-ca', proxy.caFile, '-prefix', load.prefix, '-pids', proxy.pids.join(',')],
    ...['-n', String(load.connections), '-c', String(load.parallel ?? 1)],
    ...['-requests', String(load.requests ?? 1), '-distinct', String(load.names ?? 1)],
  ];
}

function checked(line: string): ProxyLoadResult {
  const result = JSON.parse(line) as ProxyLoadResult;
  if (result.failed > 0) throw new Error(`${result.failed} connections failed: ${result.complaint ?? ''}`);
  return result;
}

/** of one or more processes, in kilobytes */
export function residentKbOf(pids: readonly number[]): number {
  const kb = (pid: number): number => {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0);
  };
  return pids.reduce((sum, pid) => sum + kb(pid), 0);
}
