// `leafgate up` as a person starts it: a child process with a scrubbed environment, a state folder in a temp folder and
// a free port, stopped by its own process id.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AccessRecord } from '../../src/observe/access-record.ts';
import { runCommand, startProcess, type CommandResult, type StartedProcess } from './run-command.ts';
import { scrubbedEnvironment, type ChildEnvironment } from './scrubbed-environment.ts';
import type { TempFolder } from './temp-folder.ts';
import { waitFor } from './wait-for.ts';

export const mainScript = new URL('../../src/main.ts', import.meta.url).pathname;

export type GatewayUnderTest = {
  readonly process: StartedProcess;
  readonly proxyUrl: string;
  readonly proxyPort: number;
  readonly caFile: string;
  readonly mergedFile: string;
  readonly state: string;
  /** records printed so far */
  records(): readonly AccessRecord[];
  /** waits for a record that fits */
  recordOf(what: string, fits: (record: AccessRecord) => boolean): Promise<AccessRecord>;
  stop(): Promise<void>;
};

export type GatewayUnderTestOptions = {
  readonly envoy: string;
  readonly temp: TempFolder;
  /** relative to the temp folder; a second gateway on it sees the first one's pool */
  readonly stateName?: string;
  readonly args?: readonly string[];
  readonly env?: ChildEnvironment;
  /** words before the command, as those that run it in another network namespace */
  readonly through?: readonly string[];
};

const startDeadlineMs = 60_000;

export async function startGatewayUnderTest(options: GatewayUnderTestOptions): Promise<GatewayUnderTest> {
  const state = join(options.temp.path, options.stateName ?? 'state');
  const args = ['up', '--json', '--listen', '127.0.0.1:0', '--state', state, ...(options.args ?? [])];
  const [program = '', ...words] = [...(options.through ?? []), process.execPath, mainScript, ...args];
  const child = startProcess(program, words, { env: environment(options) });
  const [, proxyUrl = ''] = await child.waitForOutput(/"event":"ready".*"proxyUrl":"([^"]+)"/, startDeadlineMs);
  const records = recordReader(() => child.stdout());
  return {
    process: child,
    proxyUrl,
    proxyPort: Number(new URL(proxyUrl).port),
    caFile: join(state, 'gateway', 'trust', 'ca.pem'),
    mergedFile: join(state, 'gateway', 'trust', 'ca-and-system.pem'),
    state,
    records,
    recordOf: (what, fits) => waitFor(`a record of ${what}`, () => records().find(fits)),
    stop: async () => {
      await child.stop(15_000);
    },
  };
}

/** runs `leafgate ARGS` to its end */
export function runLeafgate(args: readonly string[], options: GatewayUnderTestOptions): Promise<CommandResult> {
  return runCommand(process.execPath, [mainScript, ...args], { env: environment(options) });
}

/** starts `leafgate ARGS`, which goes on until it is stopped */
export function startLeafgate(args: readonly string[], options: GatewayUnderTestOptions): StartedProcess {
  return startProcess(process.execPath, [mainScript, ...args], { env: environment(options) });
}

export type CurlThrough = {
  readonly curl: string;
  readonly temp: TempFolder;
  readonly gateway: Pick<GatewayUnderTest, 'proxyUrl' | 'caFile'>;
};

/** curl through the gateway with its CA alone, for ten seconds unless `args` say otherwise */
export function curlThrough({ curl, temp, gateway }: CurlThrough, ...args: readonly string[]): Promise<CommandResult> {
  const all = ['-sS', '-m', '10', '-x', gateway.proxyUrl, '--cacert', gateway.caFile, ...args];
  return runCommand(curl, all, { env: scrubbedEnvironment(temp.path) });
}

export function environment({ envoy, temp, env }: GatewayUnderTestOptions): ChildEnvironment {
  return scrubbedEnvironment(temp.path, { LEAFGATE_ENVOY: envoy, ...env });
}

/** the Envoys that run on a gateway's files; its watcher, a shell, is not one of them */
export function envoyPids(state: string): readonly number[] {
  return processesOf(state).filter((pid) => commandLine(pid).split('\0')[0]?.endsWith('/envoy'));
}

/** every process that runs on a gateway's files beside the gateway itself */
export function processesOf(state: string): readonly number[] {
  const marker = join(state, 'gateway', 'envoy', 'bootstrap.yaml');
  return processIds().filter((pid) => commandLine(pid).includes(marker));
}

function processIds(): readonly number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}

/** the direct children of a process */
export function childrenOf(parent: number): readonly number[] {
  return processIds().filter((pid) => {
    try {
      return new RegExp(`^PPid:\\s+${parent}$`, 'm').test(readFileSync(`/proc/${pid}/status`, 'latin1'));
    } catch {
      return false;
    }
  });
}

/** empty when the process is gone */
export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

/** parses each line once, however often it is asked */
function recordReader(text: () => string): () => readonly AccessRecord[] {
  const records: AccessRecord[] = [];
  let read = 0;
  return () => {
    const whole = text();
    const end = whole.lastIndexOf('\n') + 1;
    const lines = whole.slice(read, end).split('\n');
    read = Math.max(read, end);
    records.push(...lines.flatMap(parseRecord));
    return [...records];
  };
}

function parseRecord(line: string): readonly AccessRecord[] {
  return line.startsWith('{') && !line.startsWith('{"event":') ? [JSON.parse(line) as AccessRecord] : [];
}
