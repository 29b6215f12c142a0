// Every limit of the generated gateway on a real Envoy, at the limit and one above: what a client is told, what the record
// says, and that it is over when the cause is.
import { readFileSync } from 'node:fs';
import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { idleInnerConnection, idleProxyConnection } from '../../src/bootstrap/limits.ts';
import { explainRequest } from '../../src/observe/explain-request.ts';
import { selfCheckHost, type GatewaySpec } from '../../src/settings/gateway-spec.ts';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { parseCidrSetting, parseResolveOverride } from '../../src/settings/parse-targets.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { gatewaySpec } from '../support/gateway-spec.ts';
import { startGeneratedGateway, type GeneratedGateway } from '../support/generated-gateway.ts';
import { startNxdomainServer, type NxdomainServer } from '../support/nxdomain-server.ts';
import { connectRequest, plainGet, rawExchange, type RawAnswer } from '../support/raw-proxy-client.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor, withDeadline } from '../support/wait-for.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';

const mib = 1024 * 1024;

describeWithTools('a limit of the gateway', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let folder: TempFolder;
  let gateway: GeneratedGateway;
  let dns: NxdomainServer;
  let sink: Server;
  let sinkPort = 0;
  const open: Socket[] = [];

  beforeAll(async () => {
    dns = await startNxdomainServer();
    sink = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
    await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
    sinkPort = (sink.address() as AddressInfo).port;
  });
  afterAll(async () => {
    sink.close();
    await dns.close();
  });
  afterEach(async () => {
    for (const socket of open.splice(0)) socket.destroy();
    await gateway.stop();
    folder.remove();
  });

  const start = async (
    limits: Partial<GatewaySpec['limits']>,
    edit?: (text: string) => string,
    floodPort = 1,
  ): Promise<void> => {
    folder = createTempFolder();
    const spec = gatewaySpec(
      {
        listen: parseListenAddress('127.0.0.1:0'),
        dnsServers: [parseListenAddress(`127.0.0.1:${dns.port}`)],
        policy: policy('intercept', rule('sink.test', 'tcp'), rule('flood.test', 'tcp')),
        resolve: [`sink.test:${sinkPort}:127.0.0.1`, `flood.test:${floodPort}:127.0.0.1`].map((text) =>
          parseResolveOverride(text),
        ),
        allowDestinations: [parseCidrSetting('127.0.0.1', '--allow-destination')],
        limits: { ...gatewaySpec().limits, ...limits },
      },
      folder.path,
    );
    gateway = await startGeneratedGateway(envoy, spec, undefined, edit);
  };

  /** what the gateway said to a CONNECT; undefined when it closed without a word */
  const tunnel = async (): Promise<string | undefined> => {
    const socket = connect(gateway.port, '127.0.0.1').on('error', () => undefined);
    open.push(socket);
    socket.write(connectRequest(`sink.test:${sinkPort}`));
    const answer = new Promise<string | undefined>((resolve) => {
      socket.once('data', (chunk) => resolve(chunk.toString('latin1')));
      socket.once('close', () => resolve(undefined));
    });
    return withDeadline('an answer', answer, 10_000);
  };
  const ask = (localAddress = '127.0.0.1'): Promise<RawAnswer> =>
    rawExchange({ port: gateway.port, localAddress, send: connectRequest('10.0.0.1:443') });
  const openConnections = async (): Promise<number | undefined> => {
    const name = 'listener.explicit.downstream_cx_active';
    return (await gateway.admin.readStats(`^${name.replaceAll('.', '\\.')}$`)).get(name);
  };
  const reasonOf = async ({ body }: RawAnswer): Promise<ReturnType<typeof explainRequest>> => {
    const { id } = JSON.parse(body) as { id: string };
    return explainRequest(await gateway.lineOf('the refusal', (line) => line.id === id));
  };

  test('one client’s rate: the sixth request is one too many, in clear too, until a second has passed', async () => {
    await start({ clientRate: { perSecond: 1, burst: 5 } });
    for (let count = 0; count < 4; count += 1) expect((await ask()).status).toBe(403);
    expect((await plainGet(gateway.port, 'http://10.0.0.1/')).status).toBe(403);
    for (const answer of [await ask(), await plainGet(gateway.port, 'http://10.0.0.1/')]) {
      expect(answer).toMatchObject({
        status: 429,
        headers: { 'x-leafgate-error': 'client_rate_limited', 'retry-after': '1' },
      });
      expect(JSON.parse(answer.body)).toMatchObject({ error: 'client_rate_limited', host: '10.0.0.1' });
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('x-envoy'))).toEqual([]);
      expect((await reasonOf(answer))?.code).toBe('rate-limited');
    }
    expect((await ask('127.0.0.2')).status).toBe(403);
    await waitFor('a new allowance', async () => (await ask()).status === 403, 5_000);
  });

  test('a place among them that nobody uses: idle connections are closed, with a tunnel or without; streams stay', async () => {
    const sooner = (text: string): string =>
      text
        .replaceAll(`idle_timeout: "${idleProxyConnection}"`, 'idle_timeout: "1s"')
        .replaceAll(`idle_timeout: "${idleInnerConnection}"`, 'idle_timeout: "1s"');
    await start({}, sooner);
    expect(await tunnel()).toMatch(/^HTTP\/1\.1 200/);
    const [opaque] = open;
    const closed = (socket: Socket): Promise<unknown> =>
      withDeadline('the end', new Promise((done) => socket.once('close', done)));
    const silent = connect(gateway.port, '127.0.0.1').resume();
    const used = connect(gateway.port, '127.0.0.1').resume();
    open.push(silent, used);
    used.write('GET http://10.0.0.1/ HTTP/1.1\r\nhost: 10.0.0.1\r\n\r\n');
    await Promise.all([closed(silent), closed(used)]);
    const inTunnel = connect(gateway.port, '127.0.0.1');
    open.push(inTunnel);
    inTunnel.write(connectRequest(`${selfCheckHost}:80`));
    await withDeadline('the tunnel', new Promise((done) => inTunnel.once('data', done)));
    inTunnel.resume().write(`GET / HTTP/1.1\r\nhost: ${selfCheckHost}\r\n\r\n`);
    await closed(inTunnel);
    const echo = new Promise((done) => opaque?.once('data', (chunk: Buffer) => done(chunk.toString())));
    opaque?.write('still there');
    expect(await withDeadline('the echo', echo)).toBe('still there');
  });

  test('its connections: a tunnel above nineteen of twenty is told so, one that ends makes room, and none leaves its place taken', async () => {
    await start({ maxConnections: 20 });
    for (let count = 0; count < 19; count += 1) expect(await tunnel()).toMatch(/^HTTP\/1\.1 200/);
    const refused = (await tunnel()) ?? '';
    expect(refused).toMatch(/^HTTP\/1\.1 503 /);
    expect(refused).toMatch(/x-leafgate-error: gateway_overloaded\r\n/);
    expect(refused).toMatch(/retry-after: 5\r\n/);
    const { id, host } = JSON.parse(refused.split('\r\n\r\n')[1] ?? '') as { id?: string; host?: string };
    expect(host).toBe('sink.test');
    const line = await gateway.lineOf('the refusal', (each) => each.id === id);
    expect(explainRequest(line)).toEqual({
      code: 'overload',
      words: 'too many connections are open through the gateway',
    });
    open.pop()?.destroy();
    await waitFor('its end', async () => (await openConnections()) === 19);
    expect((await plainGet(gateway.port, `http://sink.test:${sinkPort}/`)).status).toBe(503);
    for (const socket of open.splice(0)) socket.destroy();
    await waitFor('room for another', async () => (await tunnel())?.startsWith('HTTP/1.1 200'), 5_000);
    // refused by a rule, gone before an answer, gone while it is open: none holds a place after its end
    for (let round = 0; round < 20; round += 1) {
      await ask();
      connect(gateway.port, '127.0.0.1')
        .on('error', () => undefined)
        .end(connectRequest(`sink.test:${sinkPort}`));
      await tunnel();
      open.pop()?.destroy();
    }
    for (const socket of open.splice(0)) socket.destroy();
    await waitFor('an empty gateway', async () => (await openConnections()) === 0, 10_000);
    const all = await Promise.all(Array.from({ length: 19 }, tunnel));
    expect(all.map((answer) => answer?.split(' ')[1])).toEqual(Array(19).fill('200'));
  });

  test('its connections: tunnels that share one over HTTP/2 count each for itself', async () => {
    await start({ maxConnections: 20 });
    const session = connectHttp2(`http://127.0.0.1:${gateway.port}`);
    const streams = Array.from({ length: 25 }, () => h2Tunnel(session, `sink.test:${sinkPort}`));
    const told = await Promise.all(streams.map(({ status }) => status));
    expect(told.filter((status) => status === 200)).toHaveLength(19);
    expect(told.filter((status) => status === 503)).toHaveLength(6);
    session.destroy();
  });

  test('its connections: tunnels that are reset before they are open leave nothing behind that is not counted', async () => {
    await start({ maxConnections: 20 });
    const session = connectHttp2(`http://127.0.0.1:${gateway.port}`);
    const connections = async (which: string): Promise<number | undefined> => {
      return [...(await gateway.admin.readStats(`^cluster\\.inner\\.upstream_cx_${which}$`)).values()][0];
    };
    for (let round = 0; round < 40; round += 1) h2Tunnel(session, `sink.test:${sinkPort}`).close();
    await waitFor('those made for them', async () => ((await connections('total')) ?? 0) > 0);
    await waitFor('their end', async () => (await connections('active')) === 0, 5_000);
    session.destroy();
  });

  test('its connections: with none left to be told on, the next is closed unread and counted', async () => {
    await start({ maxConnections: 16 });
    for (let count = 0; count < 16; count += 1) open.push(connect(gateway.port, '127.0.0.1').resume());
    await waitFor('all of them', async () => (await openConnections()) === 16);
    expect(await tunnel()).toBeUndefined();
    await waitFor('the count of it', async () => {
      const stats = await gateway.admin.readStats('^listener\\.explicit\\.downstream_global_cx_overflow$');
      return [...stats.values()].some((count) => count === 1);
    });
    open[0]?.destroy();
    await waitFor('room for another', async () => (await tunnel())?.startsWith('HTTP/1.1 200'), 5_000);
  });

  test('its memory: requests get 503 and words, and are taken again when others have gone', async () => {
    // looked at between any two requests of this test
    await start({ maxHeapBytes: 32 * mib }, (text) => text.replace('0.25s', '0.01s'));
    let refused: string | undefined;
    for (let count = 0; count < 2_000 && refused === undefined; count += 1) {
      const answer = await tunnel();
      if (answer?.startsWith('HTTP/1.1 200') !== true) refused = answer ?? '';
    }
    expect(refused).toMatch(/^HTTP\/1\.1 503/);
    expect(refused).toMatch(/x-leafgate-error: gateway_overloaded\r\n/);
    expect(refused).toMatch(/retry-after: 5\r\n/);
    const { id } = JSON.parse(refused?.split('\r\n\r\n')[1] ?? '') as { id?: string };
    const line = await gateway.lineOf('the refusal', (each) => each.number.status === 503);
    expect([id, explainRequest(line)?.code]).toEqual([line.id === '' ? undefined : line.id, 'overload']);
    // what the system counts is the binary's own pages above that: 50 to 59 MiB, at 32, 72 and 128 MiB (measured)
    expect(residentBytes(gateway.pid)).toBeLessThan((32 + 64) * mib);
    for (const socket of open.splice(0)) socket.destroy();
    await waitFor('requests to be taken', async () => (await tunnel())?.startsWith('HTTP/1.1 200'), 15_000);
  }, 60_000);

  test('what it buffers for a client that does not read: little, and the origin has to wait', async () => {
    const flood = createServer((socket) => {
      const write = (): void => {
        while (socket.write(Buffer.alloc(64 * 1024)));
      };
      socket.on('error', () => undefined).on('drain', write);
      write();
    });
    await new Promise<void>((resolve) => flood.listen(0, '127.0.0.1', resolve));
    await start({}, undefined, (flood.address() as AddressInfo).port);
    const socket = connect(gateway.port, '127.0.0.1').on('error', () => undefined);
    open.push(socket);
    socket.pause().write(connectRequest(`flood.test:${(flood.address() as AddressInfo).port}`));
    const stat = async (name: string): Promise<number> => {
      return (await gateway.admin.readStats(`^cluster\\.origin-tcp\\.${name}$`)).get(`cluster.origin-tcp.${name}`) ?? 0;
    };
    await waitFor('Envoy to stop reading', async () => (await stat('upstream_flow_control_paused_reading_total')) > 0);
    // two buffers of 64 KiB, and what one read brings above that; Envoy's default is a MiB each
    const buffered = await stat('upstream_cx_rx_bytes_buffered');
    expect(buffered).toBeGreaterThan(0);
    expect(buffered).toBeLessThan(512 * 1024);
    flood.close();
  });

  test('the size and number of headers: 431 with words, on the proxy and inside a tunnel', async () => {
    await start({});
    const plain = (headers: string): Promise<RawAnswer> =>
      rawExchange({ port: gateway.port, send: `GET http://10.0.0.1/ HTTP/1.1\r\nHost: x\r\n${headers}\r\n` });
    const inside = (headers: string): Promise<RawAnswer> =>
      rawExchange({
        port: gateway.port,
        send: connectRequest('gone.test:80'),
        then: `GET / HTTP/1.1\r\nHost: gone.test\r\n${headers}\r\n`,
      });
    const long = (kib: number): string => `X-Long: ${'x'.repeat(kib * 1024)}\r\n`;
    const many = (count: number): string => Array.from({ length: count }, (_, at) => `X-${at}: y\r\n`).join('');
    for (const [send, fine] of [
      [plain, 403],
      [inside, 502],
    ] as const) {
      // beside Host and what a request has of itself
      for (const headers of [long(95), many(190)]) expect((await send(headers)).status).toBe(fine);
      for (const headers of [long(97), many(201)]) {
        const answer = await send(headers);
        expect([answer.status, answer.headers['x-leafgate-error']]).toEqual([431, 'request_too_large']);
        expect(JSON.parse(answer.body)).toMatchObject({ error: 'request_too_large', status: 431 });
      }
    }
    const lines = await waitFor('the records', () => {
      const found = gateway.lines().filter(({ number }) => number.status === 431);
      return found.length === 4 ? found : undefined;
    });
    expect(lines.map((line) => explainRequest(line)?.code)).toEqual(Array(4).fill('client-request'));
  });

  test('the names that it remembers: the one above gets 503 and words, those known do not', async () => {
    await start({}, (text) => text.replaceAll(/max_hosts: \d+/g, 'max_hosts: 3'));
    for (const name of ['a', 'b', 'c']) expect((await plainGet(gateway.port, `http://${name}.test/`)).status).toBe(502);
    const answer = await plainGet(gateway.port, 'http://d.test/');
    expect(answer).toMatchObject({
      status: 503,
      headers: { 'x-leafgate-error': 'gateway_overloaded', 'retry-after': '5' },
    });
    expect(await reasonOf(answer)).toMatchObject({ code: 'overload', words: expect.stringMatching(/names/) as string });
    expect((await plainGet(gateway.port, 'http://a.test/')).status).toBe(502);
  });

  test('the streams of one HTTP/2 connection: a hundred, and the next one waits for an end', async () => {
    await start({});
    const session = connectHttp2(`http://127.0.0.1:${gateway.port}`);
    await new Promise<void>((resolve) => session.once('remoteSettings', () => resolve()));
    expect(session.remoteSettings.maxConcurrentStreams).toBe(100);
    const streams = Array.from({ length: 100 }, () => h2Tunnel(session, `sink.test:${sinkPort}`));
    expect(await Promise.all(streams.map(({ status }) => status))).toEqual(Array(100).fill(200));
    const next = h2Tunnel(session, `sink.test:${sinkPort}`);
    let isOpen = false;
    void next.status.then(() => (isOpen = true));
    await new Promise<void>((resolve) => session.ping(() => resolve()));
    expect(isOpen).toBe(false);
    streams[0]?.close();
    expect(await next.status).toBe(200);
    session.destroy();
  });

  test('none of Envoy’s own: 1,100 tunnels to one origin are more than its circuit breakers let through', async () => {
    await start({});
    const answers: (string | undefined)[] = [];
    for (let count = 0; count < 11; count += 1)
      answers.push(...(await Promise.all(Array.from({ length: 100 }, tunnel))));
    expect(answers.filter((answer) => answer?.startsWith('HTTP/1.1 200'))).toHaveLength(1_100);
    const last = open.at(-1);
    const echo = new Promise((resolve) => last?.once('data', (chunk) => resolve(chunk.toString())));
    last?.write('still here');
    expect(await withDeadline('the echo through the last', echo)).toBe('still here');
  }, 60_000);
});

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1024;
}

function h2Tunnel(session: ClientHttp2Session, authority: string): { readonly status: Promise<number>; close(): void } {
  const stream = session.request({ ':method': 'CONNECT', ':authority': authority }, { endStream: false });
  stream.on('error', () => undefined);
  const status = new Promise<number>((resolve) => {
    stream.once('response', (headers) => resolve(Number(headers[':status'])));
  });
  return { status, close: () => stream.close(constants.NGHTTP2_NO_ERROR) };
}
