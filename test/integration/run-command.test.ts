// `leafgate run -- COMMAND` on a real Envoy: through a gateway of its own and through a running one.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import {
  childrenOf,
  commandLine,
  environment,
  mainScript,
  runLeafgate,
  startGatewayUnderTest,
} from '../support/gateway-under-test.ts';
import { runCommand, startProcess } from '../support/run-command.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

describeWithTools('leafgate run', ['envoy-1.40.0', 'curl'], ({ 'envoy-1.40.0': envoy }) => {
  let temp: TempFolder;
  beforeAll(() => {
    temp = createTempFolder();
    // others run commands beside these tests
    mkdirSync(temp.file('tmp'));
  });
  afterAll(() => temp.remove());

  const run = (...words: readonly string[]) =>
    runLeafgate(['run', '--state', temp.file('state'), ...words], { envoy, temp, env: { TMPDIR: temp.file('tmp') } });
  const selfCheck = ['curl', '-sS', 'https://self-check.leafgate.invalid/'];
  const ownFolders = (): readonly string[] => readdirSync(temp.file('tmp'));

  test('runs a command that needs no proxy or trust settings of its own', async () => {
    const { status, stdout } = await run('--', ...selfCheck);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'leafgate self-check\n' });
  });

  test.each([
    [['sh', '-c', 'exit 7'], 7],
    [['sh', '-c', 'kill -TERM $$'], 143],
    [['no-such-command-anywhere'], 127],
  ])('passes on how %j ended', async (words, expected) => {
    expect((await run('--', ...words)).status).toBe(expected);
  });

  test('passes on that a file is no program, as a shell does', async () => {
    writeFileSync(temp.file('notes.txt'), 'text', { mode: 0o644 });
    expect((await run('--', temp.file('notes.txt'))).status).toBe(126);
  });

  test('leaves no folder behind and prints nothing of its own on stdout', async () => {
    const before = ownFolders();
    const { stdout } = await run('--', 'echo', 'hello');
    expect(stdout).toBe('hello\n');
    expect(ownFolders()).toEqual(before);
  });

  test('gives the command its options untouched, also those that look like ours', async () => {
    const { stdout } = await run('--', 'echo', '--state', 'x', '--json', '--', '--help');
    expect(stdout).toBe('--state x --json -- --help\n');
  });

  test('keeps loopback off the proxy', async () => {
    expect((await run('--', 'sh', '-c', 'echo $NO_PROXY $no_proxy')).stdout).toContain('127.0.0.1');
  });

  test('passes SIGTERM on to the command and waits for it', async () => {
    const args = [mainScript, 'run', '--state', temp.file('state'), '--', 'sh', '-c'];
    const script = 'trap "echo told; exit 5" TERM; echo ready; while :; do sleep 0.1; done';
    const child = startProcess(process.execPath, [...args, script], { env: environment({ envoy, temp }) });
    await child.waitForOutput(/ready/, 60_000);
    child.signal('SIGTERM');
    expect((await child.exited).status).toBe(5);
    expect(child.stdout()).toBe('ready\ntold\n');
  });

  test('ends the command when its gateway ends, and says why', async () => {
    const args = [mainScript, 'run', '--state', temp.file('state'), '--', 'sh', '-c'];
    const child = startProcess(process.execPath, [...args, 'echo pid $$; exec sleep 300'], {
      env: environment({ envoy, temp }),
    });
    const [, pid = ''] = await child.waitForOutput(/pid (\d+)/, 60_000);
    for (const envoyPid of childrenOf(child.pid).filter((candidate) => commandLine(candidate).includes('/envoy'))) {
      process.kill(envoyPid, 'SIGKILL');
    }
    expect((await child.exited).status).toBe(1);
    expect(child.stderr()).toMatch(/\[envoy-ended\]/);
    expect(commandLine(Number(pid))).toBe('');
  });

  test('that is killed takes its command and its gateway along', async () => {
    const args = [mainScript, 'run', '--state', temp.file('state'), '--', 'sh', '-c'];
    const child = startProcess(process.execPath, [...args, 'echo pid $$; exec sleep 300'], {
      env: environment({ envoy, temp }),
    });
    const [, pid = ''] = await child.waitForOutput(/pid (\d+)/, 60_000);
    const started = childrenOf(child.pid);
    expect(started.map(commandLine).join()).toMatch(/\/envoy/);
    child.signal('SIGKILL');
    await child.exited;
    await waitFor('the end of all', () => [Number(pid), ...started].every((each) => commandLine(each) === ''));
  });

  test('goes through a running gateway of the same state folder, as a shell does by `leafgate env`, and says so when options would be ignored', async () => {
    const gateway = await startGatewayUnderTest({ envoy, temp, stateName: 'shared' });
    const through = await runLeafgate(['run', '--state', gateway.state, '--', 'sh', '-c', 'echo $HTTPS_PROXY'], {
      envoy,
      temp,
    });
    expect(through.stdout).toBe(`${gateway.proxyUrl}\n`);
    const args = ['run', '--state', gateway.state, '--leaf-ttl', '5m', '--', 'true'];
    const ignored = await runLeafgate(args, { envoy, temp });
    expect(ignored.status).toBe(2);
    expect(ignored.stderr).toMatch(/--leaf-ttl would have no effect.*\[run-options-ignored\]/);
    const without = ['run', '--state', gateway.state, '--without', 'java', '--', 'sh', '-c'];
    const left = await runLeafgate([...without, 'echo ${JAVA_TOOL_OPTIONS-none}'], { envoy, temp });
    expect(left.stdout).toBe('none\n');
    const printed = await runLeafgate(['env', '--state', gateway.state], { envoy, temp });
    const script = 'eval "$1"; exec curl -sS https://self-check.leafgate.invalid/';
    const inShell = await runCommand('sh', ['-c', script, 'sh', printed.stdout], {
      env: environment({ envoy, temp }),
    });
    expect(inShell.stdout).toBe('leafgate self-check\n');
    await gateway.stop();
  });

  test('two at once on one new state folder share its CA and are in nobody’s way', async () => {
    const state = temp.file('fresh');
    const script = 'curl -sS https://self-check.leafgate.invalid/ && sha256sum < $NODE_EXTRA_CA_CERTS';
    const both = await Promise.all(
      [1, 2].map(() => runLeafgate(['run', '--state', state, '--', 'sh', '-c', script], { envoy, temp })),
    );
    const [first, second] = both.map(({ stdout }) => stdout);
    expect(first).toMatch(/^leafgate self-check\n[0-9a-f]{64}/);
    expect(second).toBe(first);
  });
});
