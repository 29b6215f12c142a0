// Runs a child in our place: same terminal, signals passed on, its exit code ours.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const passedOn = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

/**
 * Resolves with the exit code, 128 + n after signal n as shells have it. A terminal sends Ctrl-C to the whole group, and
 * npm passes it on once more, so the child may see a signal twice within moments; it must take those for one.
 */
export function runChild(command, args, options = {}) {
  const child = spawn(command, args, { stdio: 'inherit', ...options });
  const passOn = (signal) => child.kill(signal);
  for (const signal of passedOn) process.on(signal, passOn);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      for (const name of passedOn) process.removeListener(name, passOn);
      resolve(code ?? 128 + (constants.signals[signal] ?? 0));
    });
  });
}
