// Runs what an installation needs, one program at a time, and ends those that still run when it is itself told to end: a
// compiler that nobody waits for any more would go on for minutes. Knows no tool.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const running = new Set();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    for (const child of running) child.kill('SIGKILL');
    process.exit(128 + constants.signals[signal]);
  });
}

/** Runs to the end; what a failure says last is its reason. */
export function run(command, args, { cwd, env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    child.once('error', (error) => reject(new Error(`${command}: ${error.message}`)));
    child.once('close', (status) => {
      running.delete(child);
      if (status === 0) return resolve(stdout);
      const lastWords = (stderr || stdout).trim().split('\n').slice(-3).join(' | ');
      reject(new Error(`${command} ${args.slice(0, 3).join(' ')}: exit ${status}: ${lastWords}`));
    });
  });
}
