// `leafgate up` from start to stop on a real Envoy: what it leaves on disk, what it prints, how it ends.
import { existsSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import {
  envoyPids,
  environment,
  mainScript,
  processesOf,
  runLeafgate,
  startGatewayUnderTest,
} from '../support/gateway-under-test.ts';
import { runCommand, startProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

describeWithTools('leafgate up', ['envoy-1.40.0', 'curl'], ({ 'envoy-1.40.0': envoy, curl }) => {
  let temp: TempFolder;
  beforeEach(() => {
    temp = createTempFolder();
  });
  afterEach(() => temp.remove());

  const get = (proxyUrl: string, ...args: readonly string[]) =>
    runCommand(curl, ['-sS', '-m', '10', '-x', proxyUrl, ...args], { env: scrubbedEnvironment(temp.path) });

  test('says where it listens once both halves of the self-check have been shown', async () => {
    const args = [mainScript, 'up', '--listen', '127.0.0.1:0', '--state', temp.file('state')];
    const gateway = startProcess(process.execPath, args, { env: environment({ envoy, temp }) });
    const [, proxyUrl = ''] = await gateway.waitForOutput(/gateway on (http:\S+)\n/, 60_000);
    const [, caFile = ''] = await gateway.waitForOutput(/trust {2}(\S+) \(the CA alone\)/);
    await gateway.waitForOutput(/with these files a request succeeds, with the system's roots it fails/);
    const answer = await get(proxyUrl, '--cacert', caFile, 'https://self-check.leafgate.invalid/');
    expect(answer.stdout).toBe('leafgate self-check\n');
    await gateway.stop();
    // nobody waits: no connection is open
    expect(gateway.stderr()).toMatch(/^stopping$/m);
  });

  test('tells programs the same: a ready event first, a stopped event last, nothing but JSON', async () => {
    const gateway = await startGatewayUnderTest({ envoy, temp });
    await get(gateway.proxyUrl, '--cacert', gateway.caFile, 'https://10.0.0.1/');
    await gateway.recordOf('the refusal', ({ outcome }) => outcome === 'refused');
    gateway.process.signal('SIGTERM');
    await gateway.process.exited;
    const lines = gateway.process.stdout().trim().split('\n');
    const values = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(values[0]).toEqual({
      event: 'ready',
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      proxyUrl: gateway.proxyUrl,
      trust: {
        ca: gateway.caFile,
        caAndSystem: gateway.mergedFile,
        caAndSystemPkcs12: gateway.mergedFile.replace(/pem$/, 'p12'),
        wgetrc: expect.stringMatching(/wgetrc$/),
      },
      ca: {
        id: expect.stringMatching(/^ca-[0-9a-f]{8}$/),
        subject: expect.stringMatching(/^O=leafgate, CN=leafgate CA [0-9a-f]{8}$/),
        notAfter: expect.stringMatching(/^\d{4}-.*Z$/),
      },
      stateFolder: gateway.state,
    });
    expect(values.slice(1, -1).every(({ kind }) => typeof kind === 'string')).toBe(true);
    expect(values.at(-1)).toMatchObject({ event: 'stopped', cause: 'signal', signal: 'SIGTERM' });
    for (const line of gateway.process.stderr().trim().split('\n')) expect(line).toMatch(/^(\{.*\})?$/);
  });

  test('keeps everything that holds a key or a socket to its owner', async () => {
    const gateway = await startGatewayUnderTest({ envoy, temp });
    const mode = (...path: readonly string[]): string =>
      (statSync(join(gateway.state, ...path)).mode & 0o777).toString(8);
    expect(mode('.')).toBe('700');
    for (const name of ['sds.sock', 'admin.sock', 'self-check.sock', 'health.sock', 'access.json']) {
      expect([name, mode('gateway', name)]).toEqual([name, '600']);
    }
    expect(mode('pool.json')).toBe('600');
    await gateway.stop();
  });

  test('keeps its CA over a restart, so that clients go on trusting it', async () => {
    const first = await startGatewayUnderTest({ envoy, temp });
    const before = readFileSync(first.caFile, 'utf8');
    await first.stop();
    const second = await startGatewayUnderTest({ envoy, temp });
    expect(readFileSync(second.caFile, 'utf8')).toBe(before);
    await second.stop();
  });

  test('does not start when its pool is gone, and makes no new one', async () => {
    await (await startGatewayUnderTest({ envoy, temp })).stop();
    rmSync(join(temp.path, 'state', 'pool.json'));
    const refused = await runLeafgate(['up', '--state', join(temp.path, 'state')], { envoy, temp });
    expect(refused.status).toBe(3);
    expect(refused.stderr).toMatch(/had a CA pool and has none now.*\[state-pool-missing\]/);
    expect(readdirSync(join(temp.path, 'state'))).not.toContain('pool.json');
  });

  test('refuses a second gateway on the same state folder, naming the first', async () => {
    const gateway = await startGatewayUnderTest({ envoy, temp });
    const second = await runLeafgate(['up', '--listen', '127.0.0.1:0', '--state', gateway.state], { envoy, temp });
    expect(second.status).toBe(3);
    expect(second.stderr).toContain(`(process ${gateway.process.pid})`);
    await gateway.stop();
  });

  test('says which address is taken when its port is in use', async () => {
    const gateway = await startGatewayUnderTest({ envoy, temp });
    const args = ['up', '--listen', `127.0.0.1:${gateway.proxyPort}`, '--state', temp.file('other')];
    const second = await runLeafgate(args, { envoy, temp });
    expect(second.status).toBe(3);
    expect(second.stderr).toContain(`127.0.0.1:${gateway.proxyPort}`);
    expect(envoyPids(temp.file('other'))).toEqual([]);
    await gateway.stop();
  });

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'on %s drains, exits 0 and leaves nothing running',
    async (signal) => {
      const gateway = await startGatewayUnderTest({ envoy, temp });
      expect(envoyPids(gateway.state)).toHaveLength(1);
      gateway.process.signal(signal);
      expect(await gateway.process.exited).toEqual({ status: 0, signal: null });
      expect(envoyPids(gateway.state)).toEqual([]);
      expect(readdirSync(gateway.state).sort()).toEqual(['gateway', 'pool.json', 'state.json']);
      expect(readdirSync(join(gateway.state, 'gateway')).filter((name) => name === 'sds.sock')).toEqual([]);
      expect(gateway.process.stderr()).not.toMatch(/warn|error/);
    },
  );

  test('leaves no Envoy when it is killed without a chance to stop', async () => {
    const gateway = await startGatewayUnderTest({ envoy, temp });
    gateway.process.signal('SIGKILL');
    await gateway.process.exited;
    await waitFor('Envoy to be gone', () => processesOf(gateway.state).length === 0);
    const again = await startGatewayUnderTest({ envoy, temp });
    await again.stop();
  });

  test('ends with an error that names Envoy when Envoy ends by itself', async () => {
    const gateway = await startGatewayUnderTest({ envoy, temp });
    const [pid] = envoyPids(gateway.state);
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    expect((await gateway.process.exited).status).toBe(1);
    const told: unknown = JSON.parse(gateway.process.stderr().trim().split('\n').at(-1) ?? '');
    expect(told).toMatchObject({ level: 'error', code: 'envoy-ended', message: expect.stringMatching(/\(SIGKILL\)/) });
    expect(gateway.process.stdout()).toMatch(/"event":"stopped".*"cause":"error","code":"envoy-ended".*\}\n$/);
  });

  test('stopped while it starts, it leaves nothing running', async () => {
    const starting = startGatewayUnderTest({ envoy, temp }).catch(() => undefined);
    const [pid] = await waitFor('Envoy to be started', () => {
      const pids = envoyPids(temp.file('state'));
      return pids.length > 0 ? pids : undefined;
    });
    const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid ?? 0}/status`, 'utf8'))?.[1]);
    process.kill(parent, 'SIGTERM');
    await starting;
    await waitFor('Envoy to be gone', () => processesOf(temp.file('state')).length === 0);
  });

  test('answers health and metrics on its socket', async () => {
    const gateway = await startGatewayUnderTest({ envoy, temp });
    const ask = async (path: string): Promise<string> => {
      const socket = join(gateway.state, 'gateway', 'health.sock');
      return (
        await runCommand(curl, ['-sS', '--unix-socket', socket, `http://x${path}`], {
          env: scrubbedEnvironment(temp.path),
        })
      ).stdout;
    };
    expect(await ask('/readyz')).toBe('ready\n');
    expect(await ask('/livez')).toBe('live\n');
    const metrics = await ask('/metrics');
    expect(metrics).toMatch(/leafgate_self_checks_total\{polarity="positive",ok="yes"\} 1/);
    expect(metrics).toMatch(/leafgate_self_checks_total\{polarity="negative",ok="yes"\} 1/);
    expect(metrics).toMatch(/leafgate_envoy_up 1/);
    await gateway.stop();
  });

  test('is shown by status with versions, policy, counts and memory, as long as it runs', async () => {
    const gateway = await startGatewayUnderTest({ envoy, temp });
    await get(gateway.proxyUrl, '--cacert', gateway.caFile, 'https://10.0.0.1/');
    await gateway.recordOf('the refusal', ({ outcome }) => outcome === 'refused');
    const shown = await runLeafgate(['status', '--state', gateway.state], { envoy, temp });
    expect(shown.stdout).toContain(`on ${gateway.proxyUrl}: ready, up for `);
    expect(shown.stdout).toMatch(/Envoy {4}1\.40\.0, LIVE, \d+ open connection/);
    expect(shown.status).toBe(0);
    const asked = await runLeafgate(['status', '--json', '--state', gateway.state], { envoy, temp });
    expect(JSON.parse(asked.stdout)).toMatchObject({
      ...{ running: true, state: 'ready', reasons: [], pid: gateway.process.pid, proxyUrl: gateway.proxyUrl },
      policy: { source: 'built in', default: 'intercept', rules: 0 },
      ca: { id: expect.stringMatching(/^ca-/), cas: 1 },
      counts: { records: { deny: 1 }, liveNames: 1, rejectedByEnvoy: 0, lost: 0 },
      envoy: { version: '1.40.0', state: 'LIVE', memoryBytes: expect.any(Number) },
      memoryBytes: expect.any(Number),
    });
    await gateway.stop();
    expect((await runLeafgate(['status', '--state', gateway.state], { envoy, temp })).status).toBe(4);
  });

  test('is not ready while it drains, and offers itself to no new command', async () => {
    const gateway = await startGatewayUnderTest({ envoy, temp });
    const idle = connect(gateway.proxyPort, '127.0.0.1');
    idle.on('error', () => undefined);
    await new Promise((done) => idle.once('connect', done));
    gateway.process.signal('SIGTERM');
    const socket = join(gateway.state, 'gateway', 'health.sock');
    const ask = ['-sS', '-w', ' %{http_code}', '--unix-socket', socket, 'http://x/readyz'];
    await waitFor('it not to be ready', async () => {
      const ready = await runCommand(curl, ask, { env: scrubbedEnvironment(temp.path) });
      return /^not ready\n- stopping.*503$/s.test(ready.stdout);
    });
    expect(existsSync(join(gateway.state, 'gateway.json'))).toBe(false);
    idle.destroy();
    expect((await gateway.process.exited).status).toBe(0);
  });

  test('works in a folder whose path is too long for a socket', async () => {
    const gateway = await startGatewayUnderTest({ envoy, temp, stateName: 'a'.repeat(120) });
    const answer = await get(gateway.proxyUrl, '--cacert', gateway.caFile, 'https://self-check.leafgate.invalid/');
    expect(answer.stdout).toBe('leafgate self-check\n');
    await gateway.stop();
  });
});
