// Runs what an installation needs, one program at a time, and ends those that still run when it is itself told to end: a
// compiler that nobody waits for any more would go on for minutes. Knows no tool.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

const running = new Set();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    for (const end of running) end();
    process.exit(128 + constants.signals[signal]);
  });
}

/** Runs to the end; what a failure says last is its reason. `isAside`: it takes only what others leave of the processor. */
export function run(command, args, { cwd, env, isAside = false } = {}) {
  return new Promise((resolve, reject) => {
    const stdio = ['ignore', 'pipe', 'pipe'];
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio, detached: isAside });
    const end = () => (isAside ? endGroup(child.pid) : child.kill('SIGKILL'));
    running.add(end);
    if (isAside) stepAside(child.pid);
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    child.once('error', (error) => reject(new Error(`${command}: ${error.message}`)));
    child.once('close', (status) => {
      running.delete(end);
      if (status === 0) return resolve(stdout);
      const lastWords = (stderr || stdout).trim().split('\n').slice(-3).join(' | ');
      reject(new Error(`${command} ${args.slice(0, 3).join(' ')}: exit ${status}: ${lastWords}`));
    });
  });
}

/**
 * Priorities count inside a session only where Linux shares the processor among sessions first (sched(7), autogroup), so the
 * child, which leads one of its own, gets the lowest priority in both.
 */
function stepAside(pid) {
  try {
    setPriority(pid, 19);
    writeFileSync(`/proc/${pid}/autogroup`, '19');
  } catch {
    // it ended, did not start, or there are no such groups here
  }
}

function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // it has ended
  }
}
