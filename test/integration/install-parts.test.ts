// What brings the peers of the tests: two processes never make the same thing at once, and nothing that was started is left.
import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isRunning } from '../support/is-running.ts';
import { startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const parts = new URL('../support/install-parts/', import.meta.url).href;
let folder: TempFolder;
let started: StartedProcess[];
beforeEach(() => {
  folder = createTempFolder();
  started = [];
});
afterEach(async () => {
  await Promise.all(started.map((child) => child.stop()));
  folder.remove();
});

function start(name: string, script: string): StartedProcess {
  writeFileSync(folder.file(`${name}.mjs`), script);
  const child = startProcess(process.execPath, [folder.file(`${name}.mjs`)], { env: scrubbedEnvironment(folder.path) });
  started.push(child);
  return child;
}

const waiter = (): string => `
  import { waitForTurn } from '${parts}one-at-a-time.mjs';
  const giveAway = await waitForTurn('${folder.path}', () => console.log('waiting'));
  console.log('my turn');
  process.on('SIGUSR2', () => giveAway());
  setInterval(() => undefined, 1000);`;

test.each([
  ['gives its turn away', 'SIGUSR2'],
  ['is killed', 'SIGKILL'],
] as const)('who wants to make the same thing waits until the first one %s', async (_, signal) => {
  const first = start('first', waiter());
  await first.waitForOutput(/my turn/);
  const others = [start('second', waiter()), start('third', waiter())];
  for (const other of others) await other.waitForOutput(/waiting/);
  first.signal(signal);
  const hasTurn = (other: StartedProcess): boolean => other.stdout().includes('my turn');
  const next = await waitFor('the next turn', () => others.find(hasTurn));
  expect(others.filter(hasTurn)).toEqual([next]);
  next.signal(signal);
  await waitFor('the last turn', () => others.every(hasTurn));
});

test('what runs aside has the lowest priority, and ends with whoever started it', async () => {
  const runner = start(
    'runner',
    `import { run } from '${parts}run-tool.mjs';
     const script = 'while :; do echo $$ $(nice) $(cat /proc/$$/autogroup 2>/dev/null) >seen; sleep 0.05; done';
     await run('/bin/sh', ['-c', script], { cwd: '${folder.path}', isAside: true });`,
  );
  const pid = await waitFor('the lowest priority', () => {
    try {
      const [, id, rest = ''] = /^(\d+) 19\b(.*)$/m.exec(readFileSync(folder.file('seen'), 'utf8')) ?? [];
      return /nice (?!19)/.test(rest) ? undefined : id;
    } catch {
      return undefined;
    }
  });
  runner.signal('SIGTERM');
  await runner.exited;
  await waitFor('its end', () => !isRunning(Number(pid)));
});
