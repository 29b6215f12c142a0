// The limits as a person sets them, on `leafgate up`: what a client and whoever runs the gateway see of them, and how a
// stop keeps to its time.
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { connectRequest, plainGet, rawExchange } from '../support/raw-proxy-client.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { startScriptedDns, type ScriptedDns } from '../support/scripted-dns.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor, withDeadline } from '../support/wait-for.ts';

describeWithTools('leafgate up with limits', ['envoy-1.40.0', 'curl'], ({ 'envoy-1.40.0': envoy, curl }) => {
  let temp: TempFolder;
  let origin: Server;
  let dns: ScriptedDns;
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    origin = createServer((_, response) => void response.end('the origin'));
    await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
    dns = await startScriptedDns({ names: { 'origin.test': ['127.0.0.1'] } });
  });
  afterAll(async () => {
    origin.closeAllConnections();
    origin.close();
    await dns.close();
  });
  beforeEach(() => {
    temp = createTempFolder();
  });
  afterEach(() => temp.remove());

  const start = async (...args: readonly string[]): Promise<void> => {
    gateway = await startGatewayUnderTest({
      ...{ envoy, temp },
      args: ['--dns', `127.0.0.1:${dns.port}`, '--allow-destination', '127.0.0.1', ...args],
    });
  };
  const originUrl = (): string => `http://origin.test:${(origin.address() as AddressInfo).port}/`;
  const ask = async (path: string): Promise<string> => {
    const args = ['-sS', '--unix-socket', join(gateway.state, 'gateway', 'health.sock'), `http://x${path}`];
    return (await runCommand(curl, args, { env: scrubbedEnvironment(temp.path) })).stdout;
  };
  const limited = async (limit: string): Promise<number> => {
    const metric = new RegExp(`^leafgate_limits_reached_total\\{limit="${limit}"\\} (\\d+)$`, 'm');
    return Number(metric.exec(await ask('/metrics'))?.[1]);
  };
  /** open until its process ends */
  const heldConnection = async (): Promise<Socket> => {
    const socket = connect(gateway.proxyPort, '127.0.0.1').on('error', () => undefined);
    await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
    return socket;
  };

  test('a client above --client-rate is told so, and so is whoever runs the gateway; --dns resolves the names', async () => {
    await start('--client-rate', '1');
    expect((await plainGet(gateway.proxyPort, originUrl())).body).toBe('the origin');
    const answers = await Promise.all(Array.from({ length: 40 }, () => plainGet(gateway.proxyPort, originUrl())));
    const refused = answers.filter(({ status }) => status === 429);
    // at most 20 at once, of which the self-check has had some
    expect(refused.length).toBeGreaterThanOrEqual(20);
    const { id } = JSON.parse(refused[0]?.body ?? '') as { id: string };
    expect(await gateway.recordOf('the refusal', (record) => record.id === id)).toMatchObject({
      ...{ decision: 'deny', outcome: 'refused', status: 429 },
      reason: { code: 'rate-limited' },
    });
    await waitFor('the metric', async () => (await limited('client-rate')) === refused.length);
    expect(await ask('/readyz')).toMatch(/^ready\n- requests are refused: a client asks more often/);
    expect(gateway.process.stderr().match(/a client asks more often than --client-rate/g)).toHaveLength(1);
    await gateway.stop();
  });

  test('a connection above --max-connections is closed, counted and told', async () => {
    await start('--max-connections', '4');
    const open = async (count: number): Promise<boolean> => {
      return (await ask('/metrics')).includes(`\nleafgate_envoy_connections ${count}\n`);
    };
    await waitFor('the end of those of the self-check', () => open(0));
    const held = await Promise.all([1, 2, 3, 4].map(heldConnection));
    await waitFor('all four', () => open(4));
    const answer = await rawExchange({ port: gateway.proxyPort, send: connectRequest('origin.test:80') });
    expect(answer).toMatchObject({ text: '', closed: true });
    await waitFor('the metric', async () => (await limited('connections')) === 1);
    expect(gateway.process.stderr()).toMatch(/connections closed unread: --max-connections is reached/);
    for (const socket of held) socket.destroy();
    await gateway.stop();
  });

  test.each([
    ['at once', '0ms', 0, 2_500],
    ['after two seconds', '2s', 2_000, 4_500],
  ])('a stop with an open connection ends %s, as --drain %s says', async (_, drain, least, most) => {
    await start('--drain', drain);
    const held = await heldConnection();
    const closed = new Promise<void>((resolve) => held.once('close', () => resolve()));
    const startedAt = performance.now();
    gateway.process.signal('SIGTERM');
    expect(await gateway.process.exited).toEqual({ status: 0, signal: null });
    const tookMs = performance.now() - startedAt;
    expect(tookMs).toBeGreaterThanOrEqual(least);
    expect(tookMs).toBeLessThan(most);
    await withDeadline('the connection to be cut', closed);
  });

  test('a stop waits for an open connection no longer than it is open', async () => {
    await start('--drain', '1h');
    const held = await heldConnection();
    gateway.process.signal('SIGTERM');
    await waitFor('the stop', async () => (await ask('/readyz')).startsWith('not ready'));
    held.destroy();
    expect(await withDeadline('the end', gateway.process.exited, 10_000)).toEqual({ status: 0, signal: null });
  });
});
