// Real processes: what one lifeline ends, when, and what it never ends.
import { spawn, type ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { holdLifeline } from '../../src/lifeline.ts';
import { childrenOf, commandLine } from '../support/gateway-under-test.ts';
import { isRunning } from '../support/is-running.ts';
import { startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

let folder: TempFolder;
let sleepers: ChildProcess[];
beforeEach(() => {
  folder = createTempFolder();
  sleepers = [];
});
afterEach(() => {
  for (const sleeper of sleepers) sleeper.kill('SIGKILL');
  folder.remove();
});

/** a process of ours that stays, deaf to SIGTERM when asked */
function sleeping(isDeaf = false): number {
  const sleeper = spawn('/bin/sh', ['-c', `${isDeaf ? "trap '' TERM;" : ''} while :; do sleep 0.1; done`]);
  sleepers.push(sleeper);
  return sleeper.pid ?? expect.fail('no process');
}

/** holds a lifeline of `pid` and stays, to be killed */
function holderOf(pid: number): StartedProcess {
  const source = new URL('../../src/', import.meta.url).href;
  writeFileSync(
    folder.file('holder.ts'),
    `import { systemClock } from '${source}clock.ts';
     import { holdLifeline } from '${source}lifeline.ts';
     const onLost = () => console.log('lost one');
     holdLifeline({ pid: Number(process.env.PID), clock: systemClock, graceMs: 500, onLost });
     console.log('holding');
     setInterval(() => undefined, 1000);`,
  );
  const env = scrubbedEnvironment(folder.path, { PID: String(pid) });
  return startProcess(process.execPath, [folder.file('holder.ts')], { env });
}

/** the shells that wait for a process to be gone */
function shellsOf(holder: number): readonly number[] {
  return childrenOf(holder).filter((pid) => commandLine(pid).includes('leafgate-lifeline'));
}

test.each([
  ['that is polite', false],
  ['that does not hear SIGTERM', true],
])('a process %s ends with the one that is killed', async (_, isDeaf) => {
  const pid = sleeping(isDeaf);
  const holder = holderOf(pid);
  await holder.waitForOutput(/holding/);
  await waitFor('the shell', () => shellsOf(holder.pid)[0]);
  holder.signal('SIGKILL');
  await holder.exited;
  await waitFor('its end', () => !isRunning(pid));
});

test('a shell that is killed is replaced, and the new one does its work', async () => {
  const pid = sleeping();
  const holder = holderOf(pid);
  const first = await waitFor('the shell', () => shellsOf(holder.pid)[0]);
  process.kill(first, 'SIGKILL');
  await holder.waitForOutput(/lost one/);
  await waitFor('another shell', () => shellsOf(holder.pid).some((shell) => shell !== first && isRunning(shell)));
  holder.signal('SIGKILL');
  await holder.exited;
  await waitFor('its end', () => !isRunning(pid));
});

test('a lifeline that is let go ends nobody, and leaves no shell', async () => {
  const pid = sleeping();
  let losses = 0;
  const lifeline = holdLifeline({ pid, clock: systemClock, graceMs: 500, onLost: () => (losses += 1) });
  const shell = await waitFor('the shell', () => shellsOf(process.pid)[0]);
  lifeline.release();
  await waitFor('the end of the shell', () => !isRunning(shell));
  expect([isRunning(pid), losses]).toEqual([true, 0]);
});

test('a process that got the same id later is left alone', async () => {
  const pid = sleeping();
  const holder = holderOf(pid);
  const shell = await waitFor('the shell', () => shellsOf(holder.pid)[0]);
  // as if it had waited for another process: the start times differ
  const script = commandLine(shell).split('\0')[2] ?? '';
  const other = script.replace('birth=$(born $1)', 'birth=1');
  expect(other).not.toBe(script);
  const stranger = spawn('/bin/sh', ['-c', other], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => stranger.once('exit', resolve));
  stranger.stdio[3]?.destroy();
  await ended;
  expect(isRunning(pid)).toBe(true);
  await holder.stop();
});
