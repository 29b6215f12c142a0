// Runs somebody's command as if it had been typed: same terminal, same exit code, signals passed on.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { LeafgateError } from '../errors.ts';
import type { Io } from './command-context.ts';
import { cliErrors } from './cli-errors.ts';

export type ChildCommand = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
};

/** what a shell adds to the number of the signal that ended a command */
const signalExitBase = 128;

/** what a shell returns for a command that is not there, and for one that is no program (POSIX sh, 2.8.2) */
const notFoundExitCode = 127;
const notExecutableExitCode = 126;

export type ChildOutcome =
  | { readonly kind: 'ended'; readonly exitCode: number }
  | { readonly kind: 'not-started'; readonly exitCode: number; readonly error: LeafgateError };

/**
 * Resolves with the command's exit code, 128 + n when signal n ended it, 127 or 126 when it could not be started. A terminal sends Ctrl-C to the whole foreground
 * group, so that SIGINT is passed on only where no terminal did so.
 */
export function runChildCommand(child: ChildCommand, io: Io): Promise<ChildOutcome> {
  return new Promise((done) => {
    const running = spawn(child.command, child.args, { stdio: 'inherit', env: child.env });
    const stopListening = io.onSignal((signal) => {
      if (signal !== 'SIGINT' || !io.isTerminal) running.kill(signal);
    });
    running.once('error', (error: NodeJS.ErrnoException) => {
      stopListening();
      const fields = { command: child.command, detail: error.code ?? error.message };
      done({
        kind: 'not-started',
        exitCode: error.code === 'ENOENT' ? notFoundExitCode : notExecutableExitCode,
        error: cliErrors.error('run-command-not-found', fields, error),
      });
    });
    running.once('exit', (code, signal) => {
      stopListening();
      const exitCode = code ?? signalExitBase + (signal === null ? 0 : constants.signals[signal]);
      done({ kind: 'ended', exitCode });
    });
  });
}
