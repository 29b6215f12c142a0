// The promises that every other test leans on: children end, folders go, and nothing is inherited.
import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand, startProcess } from '../../support/run-command.ts';
import { scrubbedEnvironment } from '../../support/scrubbed-environment.ts';
import { createTempFolder } from '../../support/temp-folder.ts';
import { waitFor, withDeadline } from '../../support/wait-for.ts';

const env = scrubbedEnvironment('/nonexistent');

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('children of tests', () => {
  test('inherit nothing but what they are given', async () => {
    const { stdout } = await runCommand('env', [], { env });
    expect(stdout.match(/^\w+(?==)/gm)?.toSorted()).toEqual(['HOME', 'PATH']);
  });

  test('are killed with what they started when their deadline passes', async () => {
    const { timedOut, stdout } = await runCommand('sh', ['-c', 'sleep 60 & echo $!; wait'], { env, deadlineMs: 200 });
    expect(timedOut).toBe(true);
    await waitFor('the grandchild to end', () => !isAlive(Number(stdout)));
  });

  test('are given their input, and their output and exit are kept apart', async () => {
    const script = 'cat; echo problem >&2; exit 7';
    expect(await runCommand('sh', ['-c', script], { env, input: 'given' })).toMatchObject({
      ...{ status: 7, signal: null, stdout: 'given', stderr: 'problem\n', timedOut: false },
    });
  });

  test('that cannot be started are an error that names them', async () => {
    await expect(runCommand('/no/such/program', [], { env })).rejects.toThrow('/no/such/program');
  });

  test('that end before the awaited output are told at once, with what they said', async () => {
    const child = startProcess('sh', ['-c', 'echo too bad; exit 3'], { env });
    await expect(child.waitForOutput(/ready/, 30_000)).rejects.toThrow(/ended first[^]*too bad/);
  });

  test('that ignore SIGTERM are killed when their grace is over', async () => {
    const child = startProcess('sh', ['-c', 'trap "" TERM; echo ready; while :; do sleep 1; done'], { env });
    await child.waitForOutput(/ready/);
    expect(await child.stop(100)).toEqual({ status: null, signal: 'SIGKILL' });
  });

  test('end also when the test process is killed, as a runner that is ended kills its workers', async () => {
    const support = new URL('../../support/run-command.ts', import.meta.url).href;
    const script = `
      const { startProcess } = await import(${JSON.stringify(support)});
      console.log(startProcess('sleep', ['60'], { env: {} }).pid);
      setInterval(() => undefined, 1000);`;
    const worker = startProcess(process.execPath, ['--input-type=module', '--eval', script], { env });
    const [pid = ''] = await worker.waitForOutput(/^\d+$/m);
    worker.signal('SIGKILL');
    await worker.exited;
    await waitFor('its child to end', () => !isAlive(Number(pid)));
  });
});

describe('waiting', () => {
  test('in vain names what was waited for', async () => {
    await expect(waitFor('a miracle', () => false, 30)).rejects.toThrow('waited 30 ms in vain for a miracle');
    await expect(withDeadline('a word', new Promise(() => undefined), 30)).rejects.toThrow('for a word');
  });

  test('returns what was seen, also a zero', async () => {
    const sights = [undefined, null, false, 0];
    expect(await waitFor('a number', () => sights.shift())).toBe(0);
  });
});

describe('a temp folder', () => {
  test('goes with all in it, and so does one whose owner was killed', () => {
    // no process has this id: the largest on Linux is 4,194,304
    const orphan = join(tmpdir(), 'lgtest-4999999-gone');
    mkdirSync(orphan, { recursive: true });
    const folder = createTempFolder();
    mkdirSync(folder.file('below'));
    expect(existsSync(orphan)).toBe(false);
    folder.remove();
    expect(existsSync(folder.path)).toBe(false);
  });
});
