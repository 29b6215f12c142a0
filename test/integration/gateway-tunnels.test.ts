// What a tunnel is besides its first bytes: many on one connection to the proxy, each its own; streams that end on one side
// first; the legs in clear with what HTTP can carry; and IPv6 to an origin with TLS.
import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { askHttp1, type HttpQuestion } from '../support/http-in-tunnel.ts';
import { startHttpOrigin, type HttpOrigin } from '../support/http-origin.ts';
import { openTlsInTunnel, openTunnel } from '../support/open-tunnel.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { waitFor, withDeadline } from '../support/wait-for.ts';
import { startWholeGateway, type WholeGateway } from '../support/whole-gateway.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';

const hosts = ['one', 'two', 'three', 'four'].map((name) => `${name}.test`);
const manyBytes = 4 * 2 ** 20;

describeWithTools('tunnels', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  const origins = new Map<string, HttpOrigin>();
  let six: HttpOrigin;
  let talker: HttpOrigin;
  let sendEvent = (): void => undefined;
  /** sends much and ends at once */
  let endsFirst: Server;
  /** answers once its peer has ended, as some old protocols do */
  let answersLast: Server;
  let gateway: WholeGateway;

  beforeAll(async () => {
    const authority = createTestAuthority();
    for (const host of hosts) {
      origins.set(host, await startHttpOrigin({ answer: (_, response) => void response.end(`I am ${host}`) }));
    }
    const certificate = issueServerCertificate(authority, { names: ['six.test'] });
    six = await startHttpOrigin({ certificate, address: '::1' });
    talker = await startHttpOrigin({
      answer: (request, response) => {
        if (request.method === 'POST') {
          request.resume().on('end', () => {
            response.writeHead(200, { trailer: 'x-back' });
            response.write('body');
            response.addTrailers({ 'x-back': String(request.trailers['x-sent']) });
            response.end();
          });
          return;
        }
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        let sent = 0;
        sendEvent = () => void response.write(`data: ${(sent += 1)}\n\n`);
        sendEvent();
      },
    });
    endsFirst = createServer((socket) => void socket.on('error', () => undefined).end(Buffer.alloc(manyBytes, 7)));
    answersLast = createServer({ allowHalfOpen: true }, (socket) => {
      let text = '';
      socket.on('error', () => undefined).on('data', (chunk) => (text += chunk.toString()));
      socket.on('end', () => socket.end(`got ${text}`));
    });
    for (const server of [endsFirst, answersLast]) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    }
    gateway = await startWholeGateway({
      ...{ envoy, origins: authority },
      names: {
        ...Object.fromEntries([...hosts, 'talker.test', 'opaque.test'].map((host) => [host, ['127.0.0.1']])),
        'six.test': ['::1'],
      },
      spec: { policy: policy('intercept', rule('opaque.test', 'tcp')) },
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all([...origins.values(), six, talker].map((origin) => origin.close()));
    endsFirst.close();
    answersLast.close();
  });

  const portOf = (server: Server): number => (server.address() as AddressInfo).port;

  test('sixty at once on one HTTP/2 connection to the proxy stay apart: origin, record and id', async () => {
    const session = connectHttp2(`http://127.0.0.1:${gateway.port}`);
    const visits = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const host = hosts[index % hosts.length] ?? '';
        const authority = `${host}:${origins.get(host)?.port ?? 0}`;
        const stream = await openStream(session, authority);
        const { body } = await askHttp1(stream, { authority, path: `/visit-${index}` });
        stream.destroy();
        return { host, body, path: `/visit-${index}` };
      }),
    );
    session.destroy();
    for (const { host, body } of visits) expect(body).toBe(`I am ${host}`);
    const records = await waitFor('a record of each', () => {
      const seen = gateway.records().filter(({ path }) => path?.startsWith('/visit-'));
      return seen.length >= visits.length && seen;
    });
    for (const { path, host } of visits) {
      expect(records.filter((record) => record.path === path)).toMatchObject([{ host, status: 200 }]);
    }
    expect(new Set(records.map(({ id }) => id)).size).toBe(visits.length);
  });

  test('an origin with TLS is reached over IPv6', async () => {
    const authority = `six.test:${six.port}`;
    const target = { proxyPort: gateway.port, authority, ca: gateway.caPem, alpn: ['http/1.1'] };
    const tls = await openTlsInTunnel(target);
    expect(await askHttp1(tls, { authority, path: '/' })).toMatchObject({ status: 200 });
    tls.destroy();
  });

  test('what an origin sends before it ends arrives whole', async () => {
    for (const protocol of ['HTTP/1.0', 'HTTP/1.1'] as const) {
      const authority = `opaque.test:${portOf(endsFirst)}`;
      const tunnel = await openTunnel({ proxyPort: gateway.port, authority, protocol });
      let received = 0;
      tunnel.on('data', (chunk: Buffer) => (received += chunk.length));
      await withDeadline('the end', once(tunnel, 'end'));
      expect(received).toBe(manyBytes);
      tunnel.destroy();
    }
  });

  describe.each(['without a tunnel', 'inside a tunnel'])('clear HTTP %s', (place) => {
    async function open(): Promise<{ stream: Duplex; authority: string; before: string }> {
      const authority = `talker.test:${talker.port}`;
      if (place === 'inside a tunnel') {
        return { stream: await openTunnel({ proxyPort: gateway.port, authority }), authority, before: '' };
      }
      return { stream: connect(gateway.port, '127.0.0.1'), authority, before: `http://${authority}` };
    }

    test('keeps trailers, both ways', async () => {
      const { stream, authority, before } = await open();
      const question: HttpQuestion = { authority, path: `${before}/`, method: 'POST', body: 'abc' };
      const answer = await askHttp1(stream, { ...question, headers: { te: 'trailers' }, trailers: { 'x-sent': 'up' } });
      expect(answer).toMatchObject({ status: 200, body: 'body', trailers: { 'x-back': 'up' } });
      stream.destroy();
    });

    test('streams: an event arrives before the origin has sent the next', async () => {
      const { stream, authority, before } = await open();
      let text = '';
      stream.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
      stream.write(`GET ${before}/events HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
      for (const nth of [1, 2, 3]) {
        await waitFor(`event ${nth}`, () => text.includes(`data: ${nth}\n`));
        expect(text).not.toContain(`data: ${nth + 1}`);
        sendEvent();
      }
      stream.destroy();
    });
  });

  describe('that their client ends on its side first', () => {
    test('end at once, and the rest of the answer is lost', async () => {
      for (const protocol of ['HTTP/1.1', 'HTTP/2'] as const) {
        const authority = `opaque.test:${portOf(answersLast)}`;
        const tunnel = await openTunnel({ proxyPort: gateway.port, authority, protocol });
        let text = '';
        tunnel.on('data', (chunk: Buffer) => (text += chunk.toString()));
        const closed = once(tunnel, 'close');
        tunnel.end('all I have');
        await withDeadline('the end', closed);
        expect(text).toBe('');
      }
    });

    test('are no different from requests without one', async () => {
      const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
      let text = '';
      socket.on('data', (chunk) => (text += chunk.toString()));
      const authority = `talker.test:${talker.port}`;
      socket.end(`GET http://${authority}/half HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
      await withDeadline('the end', once(socket, 'end'));
      expect(text).toBe('');
      socket.destroy();
    });
  });
});

async function openStream(session: ClientHttp2Session, authority: string): Promise<Duplex> {
  const stream = session.request({ ':method': 'CONNECT', ':authority': authority }, { endStream: false });
  stream.on('error', () => undefined);
  const [headers] = (await withDeadline(`a tunnel to ${authority}`, once(stream, 'response'))) as [
    { readonly ':status'?: number },
  ];
  if (headers[':status'] !== 200) throw new Error(`${authority}: ${String(headers[':status'])}`);
  return stream;
}
