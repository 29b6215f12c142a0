// `leafgate project` as a child process on real files: a folder with the list of bundles, what bundles are made of, volumes
// and the files that are written; health on a socket beside them.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createAdminClient } from '../../src/envoy/admin-client.ts';
import type { Certificate } from '../../src/x509/certificate-types.ts';
import { encodeCertificatesPem } from '../../src/x509/pem.ts';
import { makeCa } from './ca-workshop.ts';
import { mainScript } from './gateway-under-test.ts';
import { readSample } from './read-sample.ts';
import { runCommand, startProcess, type CommandResult, type ExitInfo, type StartedProcess } from './run-command.ts';
import { scrubbedEnvironment, type ChildEnvironment } from './scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from './temp-folder.ts';
import { waitFor } from './wait-for.ts';

/** path -> names of bundles, separated by spaces */
export type AskedFiles = Readonly<Record<string, string>>;

export type RunningProject = {
  readonly process: StartedProcess;
  /** of /readyz */
  ready(): Promise<{ readonly status: number; readonly body: string }>;
  status(): Promise<unknown>;
  metric(sample: string): Promise<number>;
  stop(): Promise<ExitInfo>;
  kill(): Promise<ExitInfo>;
};

export type ProjectWorld = {
  readonly folder: TempFolder;
  /** name -> backend, as the list of bundles has them */
  allow(bundles: Readonly<Record<string, object>>): void;
  /** what the file `NAME.pem` holds, which is a backend of a bundle */
  put(name: string, text: string | readonly Certificate[]): void;
  /** absolute path of such a file */
  sourceOf(name: string): string;
  ask(files: AskedFiles, file?: string): void;
  /** the text of a written file; undefined when there is none */
  written(path: string): string | undefined;
  once(...args: readonly string[]): Promise<CommandResult>;
  /** follows volume.yaml, or with `--actors` the folder of volumes; its health answers, or it has ended */
  start(...args: readonly string[]): Promise<RunningProject>;
  close(): Promise<void>;
};

/** a new CA certificate, as a bundle has them */
export function newAnchor(): Certificate {
  const now = Date.now();
  return makeCa({ notBefore: (now - 3_600_000) as never, notAfter: (now + 86_400_000) as never }).certificate;
}

export function createProjectWorld(env: ChildEnvironment = {}): ProjectWorld {
  const folder = createTempFolder();
  mkdirSync(folder.file('actors'));
  const running: RunningProject[] = [];
  const environment = scrubbedEnvironment(folder.path, env);
  const base = ['project', '--bundles', folder.file('bundles.yaml'), '--dir', folder.file('out')];
  const volume = ['--volume', folder.file('volume.yaml')];
  /** as whoever must not be seen half-way writes */
  const replace = (path: string, text: string): void => {
    writeFileSync(`${path}.draft`, text);
    renameSync(`${path}.draft`, path);
  };
  const world: ProjectWorld = {
    folder,
    allow: (bundles) => replace(folder.file('bundles.yaml'), JSON.stringify({ bundles })),
    put: (name, text) => replace(world.sourceOf(name), typeof text === 'string' ? text : encodeCertificatesPem(text)),
    sourceOf: (name) => folder.file(`${name}.pem`),
    ask: (files, file = 'volume.yaml') => replace(folder.file(file), volumeText(files)),
    written: (path) => {
      const at = folder.file(`out/${path}`);
      return existsSync(at) ? readFileSync(at, 'utf8') : undefined;
    },
    once: (...args) =>
      runCommand(process.execPath, [mainScript, ...base, ...volume, '--once', ...args], { env: environment }),
    start: async (...args) => {
      const what = args.includes('--actors') ? [] : volume;
      const socket = folder.file(`health-${running.length}.sock`);
      const child = startProcess(
        process.execPath,
        [mainScript, ...base, ...what, '--metrics', `unix:${socket}`, ...args],
        { env: environment },
      );
      const started = runningProject(child, socket);
      running.push(started);
      const ended = child.exited.then(
        () => undefined,
        () => undefined,
      );
      const answers = (): Promise<boolean> =>
        started.ready().then(
          () => true,
          () => false,
        );
      await Promise.race([ended, waitFor('the health of the command', answers, 30_000)]);
      return started;
    },
    close: async () => {
      await Promise.all(running.map((one) => one.kill().catch(() => undefined)));
      folder.remove();
    },
  };
  return world;
}

export function volumeText(files: AskedFiles): string {
  const dataSources = Object.entries(files).map(([path, names]) => ({
    trustBundle: { names: names.split(' '), path },
  }));
  return JSON.stringify({ dataSources });
}

function runningProject(child: StartedProcess, socket: string): RunningProject {
  const client = createAdminClient(socket);
  return {
    process: child,
    ready: async () => {
      const { status, body } = await client.get('/readyz');
      return { status, body };
    },
    status: async () => JSON.parse((await client.get('/status')).body) as unknown,
    metric: (sample) => readSample(socket, sample),
    stop: () => child.stop(),
    kill: () => {
      child.signal('SIGKILL');
      return child.exited;
    },
  };
}
