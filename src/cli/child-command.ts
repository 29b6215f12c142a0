// Runs somebody's command as if it had been typed: same terminal, same exit code, signals passed on.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Io } from './command-context.ts';
import { cliErrors } from './cli-errors.ts';

export type ChildCommand = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
};

/** what a shell adds to the number of the signal that ended a command */
const signalExitBase = 128;

/**
 * Resolves with the command's exit code, 128 + n when signal n ended it. A terminal sends Ctrl-C to the whole foreground
 * group, so that SIGINT is passed on only where no terminal did so.
 * @throws run-command-not-found
 */
export function runChildCommand(child: ChildCommand, io: Io): Promise<number> {
  return new Promise((done, failed) => {
    const running = spawn(child.command, child.args, { stdio: 'inherit', env: child.env });
    const stopListening = io.onSignal((signal) => {
      if (signal !== 'SIGINT' || !io.isTerminal) running.kill(signal);
    });
    running.once('error', (error) => {
      stopListening();
      failed(cliErrors.error('run-command-not-found', { command: child.command, detail: error.message }, error));
    });
    running.once('exit', (code, signal) => {
      stopListening();
      done(code ?? (signal === null ? signalExitBase : signalExitBase + constants.signals[signal]));
    });
  });
}
