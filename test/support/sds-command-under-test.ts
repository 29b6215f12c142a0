// `leafgate sds` as a child process, with its metrics on a socket beside it.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { epoch, hours } from '../../src/clock.ts';
import { createPool } from '../../src/pool/create-pool.ts';
import { parsePool } from '../../src/pool/parse-pool.ts';
import { mainScript } from './gateway-under-test.ts';
import { readSample } from './read-sample.ts';
import { startProcess } from './run-command.ts';
import type { ExitInfo, StartedProcess } from './run-command.ts';
import { scrubbedEnvironment } from './scrubbed-environment.ts';
import { anchorPem } from './sds-under-test.ts';
import type { TempFolder } from './temp-folder.ts';

export type SdsCommandUnderTest = {
  readonly process: StartedProcess;
  readonly socket: string;
  /** of TCP; 0 where it listens on the socket */
  readonly port: number;
  /** a sample by its name with labels, as /metrics prints it; 0 when it is not there */
  metric(sample: string): Promise<number>;
  stop(): Promise<ExitInfo>;
  kill(): Promise<ExitInfo>;
};

export type SdsCommandOptions = {
  readonly folder: TempFolder;
  readonly poolFile: string;
  /** what may be minted; default: everything */
  readonly choice?: readonly string[];
  /** by TCP on a free port, with these options, in place of the socket */
  readonly tcp?: readonly string[];
};

export async function startSdsCommand({
  folder,
  poolFile,
  choice = ['--allow-any'],
  tcp,
}: SdsCommandOptions): Promise<SdsCommandUnderTest> {
  const socket = folder.file('sds.sock');
  const metrics = folder.file('metrics.sock');
  const place = tcp === undefined ? [`unix:${socket}`] : ['tcp:127.0.0.1:0', ...tcp];
  const args = ['sds', '--pool', poolFile, '--listen', ...place, ...choice, '--metrics', `unix:${metrics}`];
  const child = startProcess(process.execPath, [mainScript, ...args], { env: scrubbedEnvironment(folder.path) });
  const [, port = '0'] = await child.waitForOutput(/SDS server is ready path=(?:tcp:127\.0\.0\.1:(\d+))?/, 30_000);
  return {
    process: child,
    ...{ socket, port: Number(port) },
    metric: (sample) => readSample(metrics, sample),
    stop: () => child.stop(),
    kill: () => {
      child.signal('SIGKILL');
      return child.exited;
    },
  };
}

/** A pool file with one new CA; `ca` is its anchor, PEM. */
export function writePool(file: string): { readonly file: string; readonly ca: string } {
  const now = epoch(Date.now());
  const bytes = createPool({ now, randomBytes }).reveal();
  writeFileSync(file, bytes, { mode: 0o600 });
  return {
    file,
    ca: anchorPem(parsePool(bytes, { source: file, now, allowEd25519: false, shortestLeafMs: hours(1) })),
  };
}
