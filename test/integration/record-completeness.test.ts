// Exactly one record for each request, at a thousand requests a second, through rotations, a reader that stops for a while,
// a stop and a kill. LEAFGATE_TEST_LONG=1 keeps the load up for a minute.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAccessLogLine } from '../../src/observe/access-log-line.ts';
import type { AccessRecord } from '../../src/observe/access-record.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { freePort } from '../support/free-port.ts';
import {
  runLeafgate,
  startGatewayUnderTest,
  startLeafgate,
  type GatewayUnderTest,
} from '../support/gateway-under-test.ts';
import { httpGet } from '../support/http-get.ts';
import { runSteadyLoad, type LoadOptions, type LoadResult } from '../support/steady-load.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate, type TestAuthority } from '../support/test-certificates.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';
import { waitFor } from '../support/wait-for.ts';

const isLong = process.env['LEAFGATE_TEST_LONG'] === '1';
const perSecond = 1_000;
const seconds = isLong ? 60 : 15;
/** a machine under load may take longer, but not for ever */
const patienceMs = 240_000;

describeWithTools('records', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  const temp: TempFolder = createTempFolder();
  const authority: TestAuthority = createTestAuthority();
  let origin: TlsOrigin;
  let clear: Server;
  let metricsAddress = '';

  beforeAll(async () => {
    writeFileSync(temp.file('origin-ca.pem'), authority.pem);
    origin = await startTlsOrigin({ certificate: issueServerCertificate(authority, { names: ['good.test'] }) });
    metricsAddress = `127.0.0.1:${await freePort()}`;
    clear = createServer((_, response) => response.end('clear'));
    await new Promise<void>((done) => clear.listen(0, '127.0.0.1', done));
  });
  afterAll(async () => {
    await origin.close();
    clear.closeAllConnections();
    clear.close();
    temp.remove();
  });

  const clearPort = (): number => (clear.address() as AddressInfo).port;
  const start = (stateName: string, keepRecords: string): Promise<GatewayUnderTest> =>
    startGatewayUnderTest({
      ...{ envoy, temp, stateName },
      args: [
        ...['--origin-ca', temp.file('origin-ca.pem'), '--allow-destination', '127.0.0.1/32'],
        ...['--resolve', `good.test:${origin.port}:127.0.0.1`, '--resolve', `clear.test:${clearPort()}:127.0.0.1`],
        ...['--keep-records', keepRecords, '--metrics', metricsAddress],
      ],
    });
  const load = (gateway: GatewayUnderTest, options: Partial<LoadOptions>): Promise<LoadResult> =>
    runSteadyLoad(
      {
        proxyPort: gateway.proxyPort,
        ca: readFileSync(gateway.caFile, 'utf8'),
        tlsAuthority: `good.test:${origin.port}`,
        clearAuthority: `clear.test:${clearPort()}`,
      },
      { perSecond, seconds, prefix: '/r/', ...options },
    );
  const pathsOf = (records: readonly AccessRecord[]): string[] => records.flatMap(({ path }) => path ?? []);

  test(
    `are exactly one for each of ${perSecond * seconds} requests at ${perSecond} a second, while the log is rotated and its reader stops for a while`,
    async () => {
      const gateway = await start('busy', '64MiB');
      const args = ['log', '--json', '--state', gateway.state];
      const follower = startLeafgate([...args, '--follow'], { envoy, temp });
      const busy = load(gateway, {});
      // the reader takes nothing for five seconds, as a pager that nobody scrolls
      await waitFor('the first records', () => gateway.records().length > 500, patienceMs);
      gateway.process.pauseOutput();
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      gateway.process.resumeOutput();
      const { answered, failed } = await busy;
      expect(answered.length + failed.length).toBe(perSecond * seconds);
      // on a machine that is far behind a connection may break; what was asked on it may or may not have got through
      expect(failed.length).toBeLessThan(perSecond / 10);
      const result = { answered, failed };
      await waitFor('a record of each', () => gateway.records().length >= answered.length, patienceMs);
      const followed = (): string[] => pathsIn(follower.stdout(), '/r/');
      await waitFor('the follower to see each', () => followed().length >= answered.length, patienceMs);
      await follower.stop();
      const metrics = (await httpGet(metricsAddress, '/metrics')).body;
      const okCounts = [...metrics.matchAll(/^leafgate_records_total\{decision="\w+",outcome="ok"\} (\d+)$/gm)];
      const ok = okCounts.reduce((sum, [, count]) => sum + Number(count), 0);
      expect(ok).toBe(gateway.records().filter(({ outcome }) => outcome === 'ok').length);
      await gateway.stop();
      const records = gateway.records();
      expectOneOfEach(pathsOf(records), result);
      expectOneOfEach(followed(), result);
      const kept = await runLeafgate(args, { envoy, temp });
      expectOneOfEach(pathsIn(kept.stdout, '/r/'), result);
      for (const name of ['leafgate_record_lines_lost_total', 'leafgate_log_lines_lost_total']) {
        expect(lostIn(metrics, name)).toEqual([]);
      }
      const segments = readdirSync(`${gateway.state}/gateway`).filter((name) => /^access\.json\.\d+$/.test(name));
      expect(segments.length).toBeGreaterThan(0);
    },
    patienceMs * 2,
  );

  test(
    'of a run that stopped and of one that was killed are neither lost nor doubled by the next run',
    async () => {
      const state = 'restarted';
      const seen: AccessRecord[] = [];
      const first = await start(state, '8MiB');
      const whole = await load(first, { prefix: '/first/', seconds: 3 });
      await first.stop();
      expectOneOfEach(pathsOf(first.records()), whole);
      seen.push(...first.records());

      const second = await start(state, '8MiB');
      const abort = new AbortController();
      const cut = load(second, { prefix: '/second/', seconds: 30, until: abort.signal });
      await waitFor('some records', () => second.records().length > 1_000, patienceMs);
      // its reader is behind when it is killed: what it has not taken is in the log alone
      second.process.pauseOutput();
      await waitFor(
        'the log to grow beyond it',
        () => linesIn(second.state) > second.records().length + 2_000,
        patienceMs,
      );
      second.process.signal('SIGKILL');
      second.process.resumeOutput();
      await second.process.exited;
      abort.abort();
      await cut;
      seen.push(...second.records());
      expect(pathsOf(second.records()).filter((path) => path.startsWith('/first/'))).toEqual([]);

      const third = await start(state, '8MiB');
      const kept = pathsKept(third.state, '/second/');
      const known = new Set(pathsOf(seen));
      await waitFor(
        'the rest',
        () => {
          for (const path of pathsOf(third.records())) known.add(path);
          return kept.every((path) => known.has(path));
        },
        patienceMs,
      );
      await third.stop();
      const again = pathsOf(third.records()).filter((path) => pathsOf(seen).includes(path));
      // a kill leaves no time to note the last half second
      expect(again.length).toBeLessThan(1_000);
      expect(pathsOf(third.records()).filter((path) => !kept.includes(path))).toEqual([]);

      const fourth = await start(state, '8MiB');
      await fourth.stop();
      expect(pathsOf(fourth.records())).toEqual([]);
    },
    patienceMs * 2,
  );
});

/** exactly one path for each request that was answered, and none that was not asked for */
function expectOneOfEach(paths: readonly string[], { answered, failed }: LoadResult): void {
  const isFailed = new Set(failed);
  expect(new Set(paths).size).toBe(paths.length);
  expect(paths.filter((path) => !isFailed.has(path)).sort()).toEqual([...answered].sort());
}

function lostIn(metrics: string, name: string): readonly string[] {
  return metrics.split('\n').filter((line) => line.startsWith(name) && !line.endsWith(' 0'));
}

function pathsIn(json: string, prefix: string): string[] {
  return [...json.matchAll(/"path":"([^"]+)"/g)].flatMap(([, path = '']) => (path.startsWith(prefix) ? [path] : []));
}

/** paths of requests in all kept segments */
function pathsKept(state: string, prefix: string): readonly string[] {
  return keptLines(state).flatMap((line) => {
    const parsed = parseAccessLogLine(line);
    const path = parsed?.leg === 'intercept' || parsed?.leg === 'plain' ? parsed.text.path : undefined;
    return path?.startsWith(prefix) === true ? [path] : [];
  });
}

function linesIn(state: string): number {
  return keptLines(state).length;
}

function keptLines(state: string): readonly string[] {
  const folder = `${state}/gateway`;
  const names = readdirSync(folder).filter((name) => /^access\.json(?:\.\d+)?$/.test(name));
  return names.flatMap((name) => readFileSync(`${folder}/${name}`, 'utf8').split('\n').slice(0, -1));
}
