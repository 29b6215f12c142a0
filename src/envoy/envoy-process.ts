// One running Envoy: started in a session of its own, so that a Ctrl-C on the terminal leaves it to us to drain; its log
// followed; ended with us however we end. Must not know what its configuration says.
import { spawn, type ChildProcess } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { millis, type Clock } from '../clock.ts';
import { holdLifeline, lifelineDescriptor } from '../lifeline.ts';
import type { Log } from '../observe/log.ts';
import type { ListenAddress } from '../settings/gateway-spec.ts';
import { pause } from '../pause.ts';
import { createAdminClient, type AdminClient } from './admin-client.ts';
import { probeListen } from './check-listen.ts';
import { termGraceMs, watchedCommand, type EnvoyLogLevel } from './envoy-command.ts';
import { drainListeners } from './drain-listeners.ts';
import { envoyErrors } from './envoy-errors.ts';
import { explainStartFailure, isNoise, parseEnvoyLogLine, type EnvoyLogLine } from './envoy-log-line.ts';

export type StartEnvoyOptions = {
  readonly binary: string;
  readonly bootstrapPath: string;
  readonly adminSocket: string;
  /** addresses that the bootstrap listens on; each must be free */
  readonly listen: readonly ListenAddress[];
  readonly log: Log;
  readonly clock: Clock;
  readonly readyTimeoutMs: number;
  /** over how long a drain spreads its closing, and how long it may take; default 10 s */
  readonly drainMs?: number;
  readonly concurrency?: number;
  readonly logLevel?: EnvoyLogLevel;
  readonly fileFlushMs?: number;
};

type ExitInfo = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** true when it ended because we asked for it */
  readonly wasAsked: boolean;
  readonly lastLines: readonly EnvoyLogLine[];
};

export interface EnvoyProcess {
  readonly pid: number;
  readonly admin: AdminClient;
  /** settles when Envoy has ended, for whatever reason; never rejects */
  readonly exited: Promise<ExitInfo>;
  /** asks clients to go, waits for them at most `drainMs`, then stops; a second call waits for the first */
  drainAndStop(drainMs?: number): Promise<ExitInfo>;
  /** stops at once: SIGTERM, then SIGKILL after two seconds */
  kill(): Promise<ExitInfo>;
}

const keptLines = 50;
const readyPollMs = millis(50);
const defaultDrainMs = 10_000;

/** Starts Envoy and waits until it is LIVE. Rejects with an error that says why it is not, and leaves nothing running. */
export async function startEnvoy(options: StartEnvoyOptions): Promise<EnvoyProcess> {
  for (const address of options.listen) await probeListen(address);
  // a socket file left by a killed Envoy would answer "connection refused" until the new one has made its own
  await rm(options.adminSocket, { force: true });
  const running = await launch(options);
  try {
    await waitUntilReady(running, options);
    return running;
  } catch (thrown) {
    await running.kill();
    throw thrown;
  }
}

async function launch(options: StartEnvoyOptions): Promise<EnvoyProcess> {
  const drainMs = options.drainMs ?? defaultDrainMs;
  const { file, args } = watchedCommand({
    ...options,
    drainMs,
    logLevel: options.logLevel ?? 'warning',
    fileFlushMs: options.fileFlushMs ?? 1_000,
  });
  const child = spawn(file, args, {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
  });
  const pid = await pidOf(child, options.binary);
  const { stderr, lifeline } = pipesOf(child);
  const supervised = { child, lifeline, pid, options, drainMs, wasAsked: false };
  return superviseChild(
    supervised,
    followLog(stderr, () => supervised.wasAsked, options.log),
  );
}

function pipesOf(child: ChildProcess): { readonly stderr: Readable; readonly lifeline: Socket } {
  const lifeline = child.stdio[lifelineDescriptor];
  if (child.stderr === null || !(lifeline instanceof Socket)) throw new Error('spawn gave no pipes');
  return { stderr: child.stderr, lifeline };
}

type Supervised = {
  readonly child: ChildProcess;
  readonly lifeline: Socket;
  readonly pid: number;
  readonly options: StartEnvoyOptions;
  readonly drainMs: number;
  /** its end was asked for */
  wasAsked: boolean;
};

function superviseChild(supervised: Supervised, lines: readonly EnvoyLogLine[]): EnvoyProcess {
  const { child, pid, options, drainMs: defaultMs } = supervised;
  const { clock } = options;
  const admin = createAdminClient(options.adminSocket);
  let stopping: Promise<ExitInfo> | undefined;
  const exited = exitOf(supervised).then((exit): ExitInfo => {
    return { ...exit, wasAsked: supervised.wasAsked, lastLines: [...lines] };
  });
  const kill = async (): Promise<ExitInfo> => {
    supervised.wasAsked = true;
    child.kill('SIGTERM');
    const timer = clock.after(millis(termGraceMs), () => child.kill('SIGKILL'));
    return exited.finally(() => timer.cancel());
  };
  const drainThenStop = async (drainMs: number): Promise<ExitInfo> => {
    supervised.wasAsked = true;
    await Promise.race([exited, drainListeners({ admin, clock, drainMs: millis(drainMs) })]);
    return kill();
  };
  return {
    pid,
    admin,
    exited,
    kill,
    drainAndStop: (drainMs = defaultMs) => (stopping ??= drainThenStop(drainMs)),
  };
}

/** the exit of the child; lets go of its lifeline at once, for the process id is free for others then */
function exitOf({ child, lifeline, pid, options }: Supervised): Promise<Pick<ExitInfo, 'code' | 'signal'>> {
  const { clock, log } = options;
  const onLost = (): void => log.warn('what ends Envoy with this process was killed; another one is started');
  const held = holdLifeline({ pid, clock, graceMs: termGraceMs, first: lifeline, onLost });
  return new Promise((resolve) => {
    child.once('exit', () => held.release());
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
}

function pidOf(child: ChildProcess, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => {
      reject(envoyErrors.error('envoy-not-startable', { path, detail: error.message, minimum: '1.40' }, error));
    });
    child.once('spawn', () => resolve(child.pid ?? 0));
  });
}

/** once it has been asked to end, what it says of lost peers is no news */
function followLog(stderr: Readable, isEnding: () => boolean, log: Log): readonly EnvoyLogLine[] {
  const kept: EnvoyLogLine[] = [];
  createInterface({ input: stderr }).on('line', (text) => {
    const line = parseEnvoyLogLine(text);
    kept.push(line);
    if (kept.length > keptLines) kept.shift();
    const level = isEnding() || isNoise(line) ? 'debug' : line.level;
    log[level]('Envoy says', { logger: line.logger, detail: line.message });
  });
  return kept;
}

async function waitUntilReady(running: EnvoyProcess, options: StartEnvoyOptions): Promise<void> {
  const ended = running.exited.then((exit) => {
    throw startFailure(exit, options);
  });
  await Promise.race([ended, pollReady(running.admin, options)]);
}

async function pollReady(admin: AdminClient, { clock, readyTimeoutMs }: StartEnvoyOptions): Promise<void> {
  const deadline = clock.monotonic() + readyTimeoutMs;
  let detail = 'its admin socket never answered';
  while (clock.monotonic() < deadline) {
    const answer = await admin.get('/ready').catch(() => undefined);
    if (answer?.status === 200) return;
    if (answer !== undefined) detail = `it is ${answer.body.trim()}`;
    await pause(clock, readyPollMs);
  }
  throw envoyErrors.error('envoy-not-ready', { seconds: Math.round(readyTimeoutMs / 1000), detail });
}

function startFailure(exit: ExitInfo, options: StartEnvoyOptions): Error {
  const how = exit.signal === null ? `exit code ${exit.code ?? 'unknown'}` : `signal ${exit.signal}`;
  return explainStartFailure(exit.lastLines, { file: options.bootstrapPath, how });
}
