// `npm start` stands between a person and the gateway: signals and exit codes must pass through it unchanged.
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';

describe('a script that runs a child in its place', () => {
  let folder: TempFolder;
  beforeEach(() => (folder = createTempFolder()));
  afterEach(() => folder.remove());

  const start = (child: string): StartedProcess => {
    const runChild = new URL('../../src/setup/run-child.mjs', import.meta.url).href;
    writeFileSync(folder.file('child.mjs'), child);
    writeFileSync(
      folder.file('script.mjs'),
      `import { runChild } from '${runChild}'; process.exitCode = await runChild(process.execPath, [process.argv[2]]);`,
    );
    return startProcess(process.execPath, [folder.file('script.mjs'), folder.file('child.mjs')], {
      env: scrubbedEnvironment(folder.path),
    });
  };

  test.each([0, 1, 3])('ends with the exit code %i of its child', async (code) => {
    expect((await start(`process.exitCode = ${code}`).exited).status).toBe(code);
  });

  test('ends with 128 + n when signal n ended its child', async () => {
    expect((await start(`process.kill(process.pid, 'SIGKILL')`).exited).status).toBe(137);
  });

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('passes %s on and waits for the child to end', async (signal) => {
    const script = start(`
      const alive = setInterval(() => undefined, 1000);
      process.once('${signal}', () => {
        console.log('cleaning up');
        setTimeout(() => { console.log('done'); process.exitCode = 7; clearInterval(alive); }, 100);
      });
      console.log('ready');`);
    await script.waitForOutput(/ready/);
    script.signal(signal);
    expect((await script.exited).status).toBe(7);
    expect(script.stdout()).toContain('done');
  });
});
