// Runs somebody's command as if it had been typed: same terminal, same exit code, signals passed on.
import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { systemCode, systemReason } from '../system-error.ts';
import type { LeafgateError } from '../errors.ts';
import type { Io } from './command-context.ts';
import { holdLifeline, type Lifeline } from '../lifeline.ts';
import { cliErrors } from './cli-errors.ts';

export type ChildCommand = {
  /** ends the command with SIGTERM when it settles, with SIGKILL when that is not heard */
  readonly ended: Promise<unknown>;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
};

/** what a shell adds to the number of the signal that ended a command */
const signalExitBase = 128;

export type ChildOutcome =
  | { readonly kind: 'ended'; readonly exitCode: number }
  | { readonly kind: 'not-started'; readonly error: LeafgateError };

/** what a command gets between SIGTERM and SIGKILL when its gateway is gone */
const endGraceMs = 5_000;

/**
 * Resolves with the command's exit code, 128 + n when signal n ended it, or with why it could not be started. A terminal
 * sends Ctrl-C to the whole foreground group, so that SIGINT is passed on only where no terminal did so.
 */
export function runChildCommand(child: ChildCommand, io: Io): Promise<ChildOutcome> {
  let running: ChildProcess;
  try {
    running = spawn(child.command, child.args, { stdio: 'inherit', env: child.env });
  } catch (thrown) {
    // an empty name, or arguments and environment that are too long
    return Promise.resolve(notStarted(child, thrown));
  }
  const stopListening = io.onSignal((signal) => {
    if (signal !== 'SIGINT' || !io.isTerminal) running.kill(signal);
  });
  void child.ended.then(() => endCommand(running));
  const lifeline = holdLifelineOf(running, io);
  return new Promise<ChildOutcome>((done) => {
    running.on('error', (error) => {
      // also raised by a signal that may not be sent: the command runs on then
      if (running.pid === undefined) done(notStarted(child, error));
    });
    running.once('exit', (code, signal) => {
      lifeline?.release();
      const exitCode = code ?? signalExitBase + (signal === null ? 0 : constants.signals[signal]);
      done({ kind: 'ended', exitCode });
    });
  }).finally(stopListening);
}

/** a command does not outlive us, even when we are killed: it would go on without its gateway */
function holdLifelineOf({ pid }: ChildProcess, { clock }: Io): Lifeline | undefined {
  // not started; the error follows
  if (pid === undefined) return undefined;
  return holdLifeline({ pid, clock, graceMs: endGraceMs, onLost: () => undefined });
}

function endCommand(running: ChildProcess): void {
  running.kill('SIGTERM');
  const timer = setTimeout(() => running.kill('SIGKILL'), endGraceMs);
  running.once('exit', () => clearTimeout(timer));
}

function notStarted({ command }: ChildCommand, thrown: unknown): ChildOutcome {
  const error =
    systemCode(thrown) === 'ENOENT' || command === ''
      ? cliErrors.error('run-command-not-found', { command }, thrown)
      : cliErrors.error('run-command-not-executable', { command, detail: systemReason(thrown) }, thrown);
  return { kind: 'not-started', error };
}
