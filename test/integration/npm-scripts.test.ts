// The commands of the README as npm runs them: npm signals only its own child, and nothing may be left behind by that.
import { existsSync, realpathSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { environment, processesOf } from '../support/gateway-under-test.ts';
import { runCommand, startProcess } from '../support/run-command.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const root = new URL('../..', import.meta.url).pathname;

describeWithTools('npm', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let temp: TempFolder;
  beforeAll(() => {
    temp = createTempFolder();
  });
  afterAll(() => temp.remove());

  const npm = (...args: readonly string[]) =>
    startProcess('npm', args, { env: environment({ envoy, temp }), cwd: root });
  const fromElsewhere = (...args: readonly string[]) =>
    runCommand('npm', ['--prefix', root, 'run', '-s', 'leafgate', '--', ...args], {
      // a temporary folder of its own: another suite counts those of its own commands
      env: { ...environment({ envoy, temp }), TMPDIR: temp.path, npm_config_registry: 'https://registry.invalid/' },
      cwd: temp.path,
    });

  test('start ends the gateway with it, and names a command that works in a checkout', async () => {
    const state = temp.file('state');
    const child = npm('start', '--', '--listen', '127.0.0.1:0', '--state', state);
    await child.waitForOutput(/gateway on http/, 60_000);
    await child.waitForOutput(/try {4}npm run -s leafgate -- run --state \S+ -- curl/);
    child.signal('SIGTERM');
    await child.exited;
    await waitFor('everything to have ended', () => processesOf(state).length === 0);
  });

  test('run leafgate leaves a command its folder, its PATH and its variables, as if npm were not there', async () => {
    const script = 'pwd; echo "$PATH"; env | grep -E "^(npm_|NODE=|INIT_CWD=)" | grep -v cafile';
    const { stdout } = await fromElsewhere('run', '--state', 'state-elsewhere', '--', 'sh', '-c', script);
    const { PATH = '' } = environment({ envoy, temp });
    expect(stdout).toBe(`${realpathSync(temp.path)}\n${PATH}\nnpm_config_registry=https://registry.invalid/\n`);
    expect(existsSync(temp.file('state-elsewhere'))).toBe(true);
  });

  test('run leafgate passes on arguments and the exit code', async () => {
    const child = npm('run', '-s', 'leafgate', '--', 'pool', 'inspect', '/nowhere/pool.json');
    expect((await child.exited).status).toBe(2);
    expect(child.stderr()).toMatch(/^leafgate: .*\[pool-file-unreadable\]\n$/);
  });
});
