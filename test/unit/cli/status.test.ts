import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { policyInForce } from '../../../src/cli/policy-in-force.ts';
import { readSamples, sumOf } from '../../../src/cli/read-samples.ts';
import { writeGatewayNote } from '../../../src/cli/running-gateway-file.ts';
import type { RunningStatus } from '../../../src/cli/running-status.ts';
import { knownState } from '../../../src/cli/state-folder.ts';
import { takeLock } from '../../../src/cli/state-lock.ts';
import { statusText } from '../../../src/cli/status-text.ts';
import { epoch } from '../../../src/clock.ts';
import { createFakeIo } from '../../support/fake-io.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

describe('leafgate status', () => {
  let temp: TempFolder;
  beforeEach(() => (temp = createTempFolder()));
  afterEach(() => temp.remove());

  const call = async (...args: readonly string[]) => {
    const terminal = createFakeIo({ XDG_STATE_HOME: temp.path });
    const exitCode = await runCommandLine(['status', ...args], terminal.io);
    return { exitCode, stdout: terminal.stdout(), stderr: terminal.stderr() };
  };
  const note = {
    ...{ pid: process.pid, proxyUrl: 'http://127.0.0.1:3128', caFile: '/c', mergedFile: '/m', wgetrcFile: '/w' },
    ...{
      adminSocket: '/nowhere/admin.sock',
      sdsSocket: '/nowhere/sds.sock',
      policyInForce: '/nowhere/policy.json',
      settings: {},
    },
  };

  test('ends with 4 where nothing runs, and makes no folder', async () => {
    const state = temp.file('leafgate');
    expect(await call()).toEqual({ exitCode: 4, stdout: `no gateway runs on ${state}\n`, stderr: '' });
    const { stdout } = await call('--json');
    expect(JSON.parse(stdout)).toEqual({ running: false, state: 'none', stateFolder: state });
    expect(() => mkdirSync(state)).not.toThrow();
  });

  test('tells a gateway that is still starting, or already stopping', async () => {
    const state = knownState(temp.file('leafgate'));
    mkdirSync(state.folder);
    takeLock(state.lockFile);
    const { exitCode, stdout } = await call();
    expect(stdout).toBe(`the gateway on ${state.folder} (process ${process.pid}) is starting or stopping\n`);
    expect(exitCode).toBe(4);
  });

  test('tells a gateway that does not answer, and why', async () => {
    const state = knownState(temp.file('leafgate'));
    mkdirSync(state.folder);
    takeLock(state.lockFile);
    await writeGatewayNote(state, { ...note, healthAddress: `unix:${temp.file('gone.sock')}` });
    const { exitCode, stdout } = await call();
    expect(stdout).toMatch(/does not answer: no such file or folder\n$/);
    expect(exitCode).toBe(4);
  });

  test('shows one that is not ready with its reasons, an Envoy that does not answer included', async () => {
    const state = knownState(temp.file('leafgate'));
    mkdirSync(state.folder);
    takeLock(state.lockFile);
    const own = { version: '1.2.3', pid: process.pid, startedAt: new Date().toISOString() };
    const health = createServer((request, response) => {
      if (request.url === '/status')
        response.end(JSON.stringify({ ...own, state: 'not-ready', reasons: ['no signer'] }));
      else response.end('leafgate_sds_live_names 7\n');
    });
    await new Promise<void>((done) => health.listen(0, '127.0.0.1', done));
    const address = health.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await writeGatewayNote(state, { ...note, healthAddress: `127.0.0.1:${port}` });
    const { exitCode, stdout } = await call();
    const json = JSON.parse((await call('--json')).stdout) as Record<string, unknown>;
    health.close();
    health.closeAllConnections();
    expect(exitCode).toBe(4);
    expect(stdout).toMatch(/^leafgate 1\.2\.3: not ready, up for \d+ s /);
    expect(stdout).toContain('  note     no signer\n');
    expect(stdout).toMatch(/ {2}Envoy {4}Envoy's admin interface did not answer .*no such file/);
    expect(json).toMatchObject({ running: true, state: 'not-ready', counts: { liveNames: 7 } });
  });
});

const full: Extract<RunningStatus, { kind: 'running' }> = {
  kind: 'running',
  stateFolder: '/s',
  status: {
    ...{ version: '0.1.0', pid: 10, startedAt: '2026-11-30T10:00:00.000Z', state: 'ready', reasons: [] },
    gateway: {
      ...{ proxyUrl: 'http://127.0.0.1:3128', envoyPid: 11, tlsUrl: 'https://127.0.0.1:3129', transparentPort: 15001 },
      policy: policyInForce({ rules: [], defaultVerdict: 'intercept' }, 'built in', epoch(Date.UTC(2026, 10, 30, 12))),
      ca: { id: 'ca-1', subject: 'O=leafgate, CN=x', notAfter: '2027-11-30T10:00:00.000Z', cas: 2 },
      trust: { ca: '/t/ca.pem', caAndSystem: '/t/all.pem', wgetrc: '/t/wgetrc' },
    },
  },
  counts: {
    ...{ liveNames: 3, minted: 4, cached: 9, refusedNames: 1, rejectedByEnvoy: 0, failedRecords: 2, lost: 1 },
    records: { intercept: 12, relay: 0, tcp: 0, deny: 5 },
  },
  memoryBytes: 88 * 1024 * 1024,
  envoy: { version: '1.40.0', state: 'LIVE', connections: 1, memoryBytes: 96 * 1024 * 1024 },
};

test('the status is shown to people line by line', () => {
  expect(statusText(full, epoch(Date.UTC(2026, 10, 30, 13, 14)))).toBe(
    [
      'leafgate 0.1.0 on http://127.0.0.1:3128: ready, up for 3 h 14 min (process 10)',
      '  Envoy    1.40.0, LIVE, 1 open connection',
      '  TLS      https://127.0.0.1:3129',
      '  takes    redirected connections on port 15001',
      '  CA       ca-1, O=leafgate, CN=x, valid to 2027-11-30, one of 2 in the pool',
      '  trust    /t/ca.pem',
      '           /t/all.pem',
      '  policy   built in: no rule, default intercept, in force for 1 h 14 min',
      '  names    3 live; 4 minted, 9 from the cache, 1 refused',
      '  records  intercept 12, relay 0, tcp 0, deny 5; 2 failed',
      '  note     1 line of records or log reached nobody',
      '  memory   leafgate 88 MiB, Envoy 96 MiB',
      '  state    /s',
      '',
    ].join('\n'),
  );
});

test('samples of metrics are summed over their labels', () => {
  const samples = readSamples(
    '# HELP a_total x\na_total{kind="one",way="in"} 2\na_total{kind="two",way="in"} 3\na_total_more 100\nb 4.5\nbroken\n',
  );
  expect([sumOf(samples, 'a_total'), sumOf(samples, 'a_total', { kind: 'two' }), sumOf(samples, 'b')]).toEqual([
    5, 3, 4.5,
  ]);
  expect([sumOf(samples, 'a_total', { way: 'out' }), sumOf(samples, 'none')]).toEqual([0, 0]);
});
