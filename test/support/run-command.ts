// Children of tests: each in its own process group, so that it and what it started end together, by pid, when the test
// says so, when the deadline passes, or when the test process ends, however it ends.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import { systemClock } from '../../src/clock.ts';
import { holdLifeline } from '../../src/lifeline.ts';
import type { ChildEnvironment } from './scrubbed-environment.ts';
import { waitFor, withDeadline } from './wait-for.ts';

export type CommandOptions = {
  readonly env: ChildEnvironment;
  readonly cwd?: string;
  readonly input?: string | Uint8Array;
  /** the whole group is killed when it passes; default one minute */
  readonly deadlineMs?: number;
};

export type ExitInfo = { readonly status: number | null; readonly signal: NodeJS.Signals | null };

export type CommandResult = ExitInfo & {
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  readonly durationMs: number;
};

export type StartedProcess = {
  readonly pid: number;
  readonly exited: Promise<ExitInfo>;
  stdout(): string;
  stderr(): string;
  /** waits until stdout or stderr matches; fails at once, with the output, when the process ends first */
  waitForOutput(pattern: RegExp, deadlineMs?: number): Promise<RegExpExecArray>;
  /** reads no more of stdout, so that its pipe fills */
  pauseOutput(): void;
  resumeOutput(): void;
  /** a signal to the process itself */
  signal(signal: NodeJS.Signals): void;
  /** ends the group: SIGTERM to the process, SIGKILL to the group when `graceMs` passes */
  stop(graceMs?: number): Promise<ExitInfo>;
};

export async function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const started = performance.now();
  const child = startChild(command, args, options);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    killGroup(child.pid);
  }, options.deadlineMs ?? 60_000);
  const exit = await child.exited;
  clearTimeout(timer);
  return {
    ...exit,
    stdout: child.stdout(),
    stderr: child.stderr(),
    timedOut,
    durationMs: performance.now() - started,
  };
}

/** Serves until it is stopped; a test process that is killed, as by the runner's own end, does not leave it behind. */
export function startProcess(command: string, args: readonly string[], options: CommandOptions): StartedProcess {
  const started = startChild(command, args, options);
  if (started.pid > 0) {
    const { pid } = started;
    const lifeline = holdLifeline({ pid, clock: systemClock, graceMs: 5000, onLost: () => undefined });
    void started.exited.finally(() => lifeline.release()).catch(() => undefined);
  }
  return started;
}

/** Ends by itself before long. */
function startChild(command: string, args: readonly string[], options: CommandOptions): StartedProcess {
  const child = spawn(command, args, {
    env: options.env,
    cwd: options.cwd,
    detached: true,
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const { pid } = child;
  const stdout = capture(child.stdout);
  const stderr = capture(child.stderr);
  const exited = exitOf(child, command);
  if (pid === undefined) {
    return { ...neverStarted(exited), stdout, stderr };
  }
  killAtExit(pid, exited);
  child.stdin?.on('error', () => undefined).end(options.input);
  return {
    pid,
    exited,
    stdout,
    stderr,
    waitForOutput: (pattern, deadlineMs) => outputMatching({ pattern, exited, stdout, stderr, deadlineMs }),
    pauseOutput: () => void child.stdout?.pause(),
    resumeOutput: () => void child.stdout?.resume(),
    signal: (signal) => void child.kill(signal),
    stop: async (graceMs = 5000) => {
      child.kill('SIGTERM');
      try {
        return await withDeadline(`${command} to end`, exited, graceMs);
      } catch {
        killGroup(pid);
        return await exited;
      } finally {
        killGroup(pid);
      }
    },
  };
}

const runningGroups = new Set<number>();
const killRunning = (): void => runningGroups.forEach(killGroup);

/** One listener for all of them: a test of the whole starts a dozen, and Node takes more than ten for a leak. */
function killAtExit(pid: number, exited: Promise<ExitInfo>): void {
  if (runningGroups.size === 0) process.on('exit', killRunning);
  runningGroups.add(pid);
  const ended = (): void => {
    runningGroups.delete(pid);
    if (runningGroups.size === 0) process.removeListener('exit', killRunning);
  };
  exited.then(ended, ended);
}

function capture(stream: NodeJS.ReadableStream | null): () => string {
  const decoder = new StringDecoder('utf8');
  let text = '';
  stream?.on('data', (chunk: Buffer) => (text += decoder.write(chunk)));
  return () => text;
}

function exitOf(child: ChildProcess, command: string): Promise<ExitInfo> {
  const exited = new Promise<ExitInfo>((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`cannot start ${command}: ${error.message}`)));
    // `close`, not `exit`: all output has been read by then
    child.once('close', (status, signal) => resolve({ status, signal }));
  });
  // whoever awaits it sees the failure; nobody has to
  exited.catch(() => undefined);
  return exited;
}

const noOutput = { pauseOutput: () => undefined, resumeOutput: () => undefined };

function neverStarted(exited: Promise<ExitInfo>): Omit<StartedProcess, 'stdout' | 'stderr'> {
  const failed = async (): Promise<never> => {
    await exited;
    throw new Error('the process did not start');
  };
  return { pid: -1, exited, waitForOutput: failed, signal: () => undefined, ...noOutput, stop: () => exited };
}

type OutputQuestion = {
  readonly pattern: RegExp;
  readonly exited: Promise<ExitInfo>;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly deadlineMs: number | undefined;
};

async function outputMatching(question: OutputQuestion): Promise<RegExpExecArray> {
  const { pattern, stdout, stderr } = question;
  let ended: ExitInfo | undefined;
  void question.exited.then((exit) => (ended = exit)).catch(() => (ended = { status: null, signal: null }));
  const look = (): RegExpExecArray | null => pattern.exec(stdout()) ?? pattern.exec(stderr());
  try {
    return await waitFor(
      `output that matches ${pattern}`,
      () => {
        const found = look();
        if (found === null && ended !== undefined)
          throw new Error(`the process ended first (${JSON.stringify(ended)})`);
        return found;
      },
      question.deadlineMs,
    );
  } catch (error) {
    throw new Error(`${(error as Error).message}\n--- stdout\n${stdout()}\n--- stderr\n${stderr()}`, { cause: error });
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // ESRCH: all of the group have ended
  }
}
