// Which HTTP goes through the gateway: each version on each leg, gRPC with all that makes it gRPC, and what happens to
// those who ask for another protocol in the middle.
import * as grpc from '@grpc/grpc-js';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { connectGrpc, startGrpcOrigin, type GrpcClient, type GrpcOrigin } from '../support/grpc-through-gateway.ts';
import { askHttp1, askHttp2, openHttp2Over, type HttpAnswer } from '../support/http-in-tunnel.ts';
import { startHttpOrigin, type HttpOrigin, type HttpVersion } from '../support/http-origin.ts';
import { openTlsInTunnel, openTunnel } from '../support/open-tunnel.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { startWholeGateway, type WholeGateway } from '../support/whole-gateway.ts';

const host = 'origin.test';

describeWithTools('HTTP through the gateway', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let gateway: WholeGateway;
  const origins: { [name in 'h2' | 'http/1.1' | 'both' | 'clear' | 'clear h2']?: HttpOrigin } = {};
  let grpcOrigin: GrpcOrigin;
  let clearGrpcOrigin: GrpcOrigin;

  beforeAll(async () => {
    const authority = createTestAuthority();
    const certificate = issueServerCertificate(authority, { names: [host] });
    origins.h2 = await startHttpOrigin({ certificate, speaks: ['h2'] });
    origins['http/1.1'] = await startHttpOrigin({ certificate, speaks: ['http/1.1'] });
    origins.both = await startHttpOrigin({ certificate });
    origins.clear = await startHttpOrigin();
    origins['clear h2'] = await startHttpOrigin({ speaks: ['h2'] });
    grpcOrigin = await startGrpcOrigin(certificate);
    clearGrpcOrigin = await startGrpcOrigin();
    gateway = await startWholeGateway({ envoy, origins: authority, names: { [host]: ['127.0.0.1'] } });
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all(Object.values(origins).map((origin) => origin.close()));
    grpcOrigin.stop();
    clearGrpcOrigin.stop();
  });

  function origin(name: keyof typeof origins): HttpOrigin {
    const found = origins[name];
    if (found === undefined) throw new Error(`no origin ${name}`);
    return found;
  }

  /** one request inside intercepted TLS, in the version that the client offers by ALPN */
  async function ask(client: HttpVersion, port: number, path: string, headers = {}): Promise<HttpAnswer> {
    const authority = `${host}:${port}`;
    const tls = await openTlsInTunnel({ proxyPort: gateway.port, authority, ca: gateway.caPem, alpn: [client] });
    try {
      expect(tls.alpnProtocol).toBe(client);
      const question = { authority, path, headers };
      return client === 'h2' ? await askHttp2(openHttp2Over(tls, authority), question) : await askHttp1(tls, question);
    } finally {
      tls.destroy();
    }
  }

  test.each([
    ['h2', 'h2', '2.0'],
    ['h2', 'http/1.1', '1.1'],
    ['http/1.1', 'h2', '2.0'],
    ['http/1.1', 'http/1.1', '1.1'],
    ['h2', 'both', '2.0'],
    ['http/1.1', 'both', '2.0'],
  ] as const)('a client of %s reaches an origin of %s by ALPN on both legs', async (client, name, version) => {
    const path = `/${client}-to-${name}`;
    expect(await ask(client, origin(name).port, path)).toMatchObject({ status: 200, body: `hello over ${version}` });
    expect(origin(name).seen(path)).toMatchObject({ version });
    const record = await gateway.recordOf(path, (candidate) => candidate.path === path);
    expect(record).toMatchObject({
      protocol: client === 'h2' ? 'HTTP/2' : 'HTTP/1.1',
      upstreamProtocol: version === '2.0' ? 'HTTP/2' : 'HTTP/1.1',
      outcome: 'ok',
    });
  });

  test.each([
    ['offers h2 before http/1.1', ['h2', 'http/1.1'], 'h2'],
    ['offers http/1.1 before h2', ['http/1.1', 'h2'], 'h2'],
    ['offers something else beside http/1.1', ['acme-tls/1', 'http/1.1'], 'http/1.1'],
    ['offers nothing', undefined, false],
    ['offers only what the gateway does not speak', ['acme-tls/1'], false],
  ] as const)('a client that %s is told %s', async (_, alpn, told) => {
    const authority = `${host}:${origin('both').port}`;
    const more = alpn === undefined ? {} : { alpn };
    const tls = await openTlsInTunnel({ proxyPort: gateway.port, authority, ca: gateway.caPem, ...more });
    expect(tls.alpnProtocol).toBe(told);
    tls.destroy();
  });

  test.each([
    ['http/1.1', 'clear', '1.1'],
    ['h2', 'clear h2', '2.0'],
  ] as const)(
    'in clear inside a tunnel, %s by prior knowledge reaches the origin as that',
    async (client, name, version) => {
      const authority = `${host}:${origin(name).port}`;
      const tunnel = await openTunnel({ proxyPort: gateway.port, authority });
      const question = { authority, path: `/prior-${client}` };
      const answer =
        client === 'h2'
          ? await askHttp2(openHttp2Over(tunnel, authority, 'http'), question)
          : await askHttp1(tunnel, question);
      tunnel.destroy();
      expect(answer).toMatchObject({ status: 200, body: `hello over ${version}` });
    },
  );

  test('an HTTP/2 origin is told the scheme that is so, whatever a client claims', async () => {
    await ask('http/1.1', origin('h2').port, '/scheme', { 'x-forwarded-proto': 'http' });
    expect(origin('h2').seen('/scheme')?.headers[':scheme']).toBe('https');
  });

  describe.each([
    ['inside intercepted TLS', () => ({ origin: grpcOrigin, ca: gateway.caPem })],
    ['in clear inside a tunnel', () => ({ origin: clearGrpcOrigin, ca: undefined })],
  ])('gRPC %s', (_, target) => {
    const open = (): GrpcClient => {
      const { origin: to, ca } = target();
      return connectGrpc({ proxyPort: gateway.port, host, port: to.port, ca });
    };

    test('carries a unary call, with metadata both ways and trailers', async () => {
      const client = open();
      const metadata = new grpc.Metadata();
      metadata.set('x-asked', 'yes');
      const answer = await client.unary('one', metadata);
      expect(answer).toMatchObject({
        message: 'echo one',
        initial: { 'x-saw': 'yes' },
        trailing: { 'x-after': 'all' },
      });
      client.close();
    });

    test('carries an error with its status and details', async () => {
      const client = open();
      await expect(client.unary('fail')).rejects.toMatchObject({
        code: grpc.status.FAILED_PRECONDITION,
        details: 'as asked for',
      });
      client.close();
    });

    test('carries each message of a bidirectional stream before the next one is sent', async () => {
      const client = open();
      const call = client.bidi();
      const received: string[] = [];
      for (const message of ['a', 'b', 'c']) {
        call.write(message);
        const [answer] = (await once(call, 'data')) as [string];
        received.push(answer);
      }
      expect(received).toEqual(['echo a', 'echo b', 'echo c']);
      call.end();
      const [status] = (await once(call, 'status')) as [grpc.StatusObject];
      expect(status.code).toBe(grpc.status.OK);
      client.close();
    });

    test('ends a call at the origin when the client cancels it', async () => {
      const client = open();
      const call = client.bidi();
      call.on('error', () => undefined);
      call.write('hold');
      await once(call, 'data');
      const cancelled = target().origin.nextCancelled();
      call.cancel();
      await cancelled;
      client.close();
    });
  });

  test('a gRPC client of a failed origin is told UNAVAILABLE with the gateway’s words', async () => {
    const client = connectGrpc({ proxyPort: gateway.port, host: 'nowhere.test', port: 443, ca: gateway.caPem });
    await expect(client.unary('one')).rejects.toMatchObject({ code: grpc.status.UNAVAILABLE });
    client.close();
  });

  describe('an upgrade', () => {
    test.each([
      ['both', true],
      ['http/1.1', true],
      ['clear', false],
    ] as const)('to WebSocket reaches an origin that speaks %s', async (name, isTls) => {
      const authority = `${host}:${origin(name).port}`;
      const target = { proxyPort: gateway.port, authority };
      const stream = isTls
        ? await openTlsInTunnel({ ...target, ca: gateway.caPem, alpn: ['http/1.1'] })
        : await openTunnel(target);
      const echoed = await webSocketEcho(stream, authority);
      expect(echoed).toMatch(/^HTTP\/1\.1 101 [^]*upgrade: websocket[^]*\x81\x05hello$/i);
      expect(origin(name).seen('/socket')?.headers).toMatchObject({
        ...{ upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' },
      });
      stream.destroy();
    });

    test('to WebSocket works through the proxy without a tunnel too', async () => {
      const socket = connect(gateway.port, '127.0.0.1');
      const authority = `${host}:${origin('clear').port}`;
      expect(await webSocketEcho(socket, authority, `http://${authority}`)).toMatch(
        /^HTTP\/1\.1 101 [^]*\x81\x05hello$/i,
      );
      socket.destroy();
    });

    test('by HTTP/2 is not offered inside a tunnel, so that clients fall back to HTTP/1.1', async () => {
      const authority = `${host}:${origin('both').port}`;
      const tls = await openTlsInTunnel({ proxyPort: gateway.port, authority, ca: gateway.caPem, alpn: ['h2'] });
      const session = openHttp2Over(tls, authority);
      const [settings] = (await once(session, 'remoteSettings')) as [{ enableConnectProtocol?: boolean }];
      expect(settings.enableConnectProtocol).not.toBe(true);
      session.destroy();
    });

    test('to a protocol that the gateway does not read is refused in words and never reaches the origin', async () => {
      for (const protocol of ['foo/2', 'SPDY/3.1', 'tcp']) {
        const path = `/upgrade-${encodeURIComponent(protocol)}`;
        const headers = { connection: 'upgrade', upgrade: protocol };
        const answer = await ask('http/1.1', origin('both').port, path, headers);
        expect([answer.status, answer.headers['x-leafgate-error']]).toEqual([501, 'upgrade_refused']);
        expect(origin('both').seen(path)).toBeUndefined();
        const record = await gateway.recordOf(path, (candidate) => candidate.path === path);
        expect(record.reason?.words).toMatch(/another protocol than WebSocket/);
      }
    });

    test('to HTTP/2 in clear is left out, and the request goes through', async () => {
      const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' };
      expect(await ask('http/1.1', origin('http/1.1').port, '/h2c', headers)).toMatchObject({ status: 200 });
      expect(origin('http/1.1').seen('/h2c')?.headers).not.toHaveProperty('upgrade');
    });
  });
});

/** a handshake of RFC 6455 1.3 and one text frame; the origin sends back what it gets */
async function webSocketEcho(stream: NodeJS.ReadWriteStream, authority: string, before = ''): Promise<string> {
  let text = '';
  stream.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  stream.write(
    `GET ${before}/socket HTTP/1.1\r\nHost: ${authority}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  while (!text.includes('\r\n\r\n')) await once(stream, 'data');
  stream.write(Buffer.from('\x81\x05hello', 'latin1'));
  while (!text.endsWith('hello')) await once(stream, 'data');
  return text;
}
