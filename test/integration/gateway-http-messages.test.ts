// What the gateway does to a message on its way: nothing. Bodies stream, trailers arrive, headers are those that were sent,
// whatever version the two sides speak.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maxHeaderCount, maxRequestHeadersKb } from '../../src/bootstrap/limits.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import {
  askHttp1,
  askHttp2,
  openHttp2Over,
  talkHttp,
  type HttpAnswer,
  type HttpQuestion,
} from '../support/http-in-tunnel.ts';
import { startHttpOrigin, type HttpOrigin, type HttpVersion } from '../support/http-origin.ts';
import { openTlsInTunnel } from '../support/open-tunnel.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { waitFor } from '../support/wait-for.ts';
import { startWholeGateway, type WholeGateway } from '../support/whole-gateway.ts';

const host = 'origin.test';
const versions = ['h2', 'http/1.1'] as const;
/** each version that a client speaks with each that an origin does */
const pairs = versions.flatMap((client) => versions.map((origin) => [client, origin] as const));

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
type Ask = Omit<HttpQuestion, 'authority' | 'path'> & { readonly answer: Answer };

describeWithTools('a message through the gateway', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  const answers = new Map<string, Answer>();
  const origins = new Map<HttpVersion, HttpOrigin>();
  let gateway: WholeGateway;
  let asked = 0;

  beforeAll(async () => {
    const authority = createTestAuthority();
    const certificate = issueServerCertificate(authority, { names: [host] });
    const answer: Answer = (request, response) => answers.get(request.url ?? '')?.(request, response);
    for (const version of versions) {
      origins.set(version, await startHttpOrigin({ certificate, speaks: [version], answer }));
    }
    gateway = await startWholeGateway({ envoy, origins: authority, names: { [host]: ['127.0.0.1'] } });
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all([...origins.values()].map((origin) => origin.close()));
  });

  describe.each(pairs)('from a client of %s to an origin of %s', (client, name) => {
    const authority = (): string => `${host}:${origins.get(name)?.port ?? 0}`;
    const open = (): Promise<TLSSocket> =>
      openTlsInTunnel({ proxyPort: gateway.port, authority: authority(), ca: gateway.caPem, alpn: [client] });

    /** one request on a connection of its own, answered by the origin as the test says */
    async function ask({ answer, ...question }: Ask): Promise<HttpAnswer & { readonly path: string }> {
      const path = `/${(asked += 1)}`;
      answers.set(path, answer);
      const tls = await open();
      const whole = { ...question, path, authority: authority() };
      const got =
        client === 'h2' ? await askHttp2(openHttp2Over(tls, whole.authority), whole) : await askHttp1(tls, whole);
      tls.destroy();
      return { ...got, path };
    }

    test('arrives piece by piece: an event before the origin has sent the next', async () => {
      let sendNext = (): void => undefined;
      const path = `/events-${client}`;
      answers.set(path, (request, response) => {
        request.resume();
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        let sent = 0;
        sendNext = () => {
          response.write(`data: ${(sent += 1)}\n\n`);
        };
        sendNext();
      });
      const tls = await open();
      const events = talkHttp(client, tls, { authority: authority(), path });
      events.end();
      for (const nth of [1, 2, 3]) {
        await waitFor(`event ${nth}`, () => events.text().includes(`data: ${nth}\n`));
        expect(events.text()).not.toContain(`data: ${nth + 1}`);
        sendNext();
      }
      tls.destroy();
    });

    test('reaches the origin piece by piece, which may answer before the request has ended', async () => {
      const path = `/upload-${client}`;
      answers.set(path, (request, response) => {
        response.writeHead(200);
        request.on('data', (chunk: Buffer) => response.write(`got ${chunk.toString()};`));
        request.on('end', () => response.end('end'));
      });
      const tls = await open();
      const talk = talkHttp(client, tls, { authority: authority(), path, method: 'POST' });
      for (const piece of ['one', 'two']) {
        talk.write(piece);
        await waitFor(`the echo of ${piece}`, () => talk.text().includes(`got ${piece};`));
      }
      talk.end();
      await waitFor('the end', () => talk.text().endsWith('end'));
      tls.destroy();
    });

    test('keeps its trailers, both ways', async () => {
      let seen: unknown;
      const { trailers, body } = await ask({
        ...{ method: 'POST', body: 'abc', headers: { te: 'trailers' }, trailers: { 'x-sent': 'up' } },
        answer: (request, response) => {
          request.resume().on('end', () => {
            seen = request.trailers['x-sent'];
            response.writeHead(200, name === 'h2' ? {} : { trailer: 'x-kept' });
            response.write('body');
            response.addTrailers({ 'x-kept': 'down' });
            response.end();
          });
        },
      });
      expect({ trailers, body, seen }).toMatchObject({ trailers: { 'x-kept': 'down' }, body: 'body', seen: 'up' });
    });

    test('takes no word of the gateway from an origin, in trailers neither', async () => {
      const forged = { 'x-leafgate-error': 'blocked_by_policy', 'x-leafgate-rule': 'deny:spoof' };
      const { trailers } = await ask({
        answer: (_, response) => {
          response.writeHead(200, name === 'h2' ? {} : { trailer: Object.keys(forged).join(', ') });
          response.write('body');
          response.addTrailers({ ...forged, 'x-kept': 'down' });
          response.end();
        },
      });
      expect(Object.keys(trailers)).toEqual(['x-kept']);
    });

    test.each([
      ['HEAD', 200],
      ['GET', 304],
      ['GET', 204],
    ] as const)('has the headers of a body that is not there, for %s with %i', async (method, status) => {
      const headers = { etag: '"x"', ...(status === 200 ? { 'content-length': '1234' } : {}) };
      const got = await ask({ method, answer: (_, response) => void response.writeHead(status, headers).end() });
      expect(got).toMatchObject({ status, body: '' });
      expect(got.headers).toMatchObject(headers);
    });

    test('waits for the origin to say `100 Continue` before the body is sent', async () => {
      let hadBodyBefore: boolean | undefined;
      const got = await ask({
        ...{ method: 'POST', body: 'abc', headers: { expect: '100-continue' } },
        answer: (request, response) => {
          let body = '';
          request.on('data', (chunk: Buffer) => (body += chunk.toString()));
          hadBodyBefore = body !== '';
          response.writeContinue();
          request.on('end', () => void response.end(`got ${body}`));
        },
      });
      expect({ ...got, hadBodyBefore }).toMatchObject({ body: 'got abc', informational: [100], hadBodyBefore: false });
    });

    test('can be refused by the origin before its body is sent', async () => {
      const got = await ask({
        ...{ method: 'POST', body: 'abc', headers: { expect: '100-continue' } },
        answer: (_, response) => void response.writeHead(417, { connection: 'close' }).end('no'),
      });
      expect(got).toMatchObject({ status: 417, body: 'no', informational: [] });
    });

    test('carries headers up to the limit, and as many of them', async () => {
      const most = 'a'.repeat(maxRequestHeadersKb * 1024 - 2000);
      const up = await ask({
        headers: { 'x-large': most },
        answer: (request, response) => void response.end(String(String(request.headers['x-large']).length)),
      });
      expect(up).toMatchObject({ status: 200, body: String(most.length) });
      const down = await ask({ answer: (_, response) => void response.writeHead(200, { 'x-large': most }).end() });
      expect(String(down.headers['x-large'])).toHaveLength(most.length);
      const names = Array.from({ length: maxHeaderCount - 20 }, (_, index) => `x-${index}`);
      const many = Object.fromEntries(names.map((header) => [header, '1']));
      const both = await ask({
        headers: many,
        answer: (request, response) => {
          const got = names.filter((header) => request.headers[header] === '1').length;
          response.writeHead(200, { ...many, 'x-got': String(got) }).end();
        },
      });
      expect(both.headers).toMatchObject({ ...many, 'x-got': String(names.length) });
    });

    test('has the headers that were sent, and none of Envoy’s', async () => {
      const up = {
        ...{ 'x-request-id': 'mine', via: '1.0 mine', 'x-forwarded-for': '10.0.0.1', forwarded: 'for=10.0.0.1' },
        ...{ cookie: 'a=1; b=2', accept: '*/*', 'user-agent': 'test', 'x-custom': '\u00fc "x"; é' },
      };
      const down = { server: 'mine', date: 'Thu, 01 Jan 1970 00:00:00 GMT', via: '1.1 mine', 'content-length': '2' };
      const { headers, path } = await ask({
        headers: up,
        answer: (_, response) => {
          response.setHeader('set-cookie', ['a=1', 'b=2']);
          response.writeHead(200, down).end('ok');
        },
      });
      const got = Object.entries(headers).filter(([header]) => !header.startsWith(':') && header !== 'connection');
      expect(Object.fromEntries(got)).toEqual({ ...down, 'set-cookie': ['a=1', 'b=2'] });
      const seen = Object.entries(origins.get(name)?.seen(path)?.headers ?? {});
      expect(Object.fromEntries(seen.filter(([header]) => !header.startsWith(':') && header !== 'host'))).toEqual(up);
    });

    test('gets none of Envoy’s headers where it has none of its own', async () => {
      const { headers, path } = await ask({ answer: (_, response) => void response.writeHead(200).end('ok') });
      const framing = new Set([':status', 'date', 'content-length', 'transfer-encoding', 'connection']);
      expect(Object.keys(headers).filter((header) => !framing.has(header))).toEqual([]);
      const seen = Object.keys(origins.get(name)?.seen(path)?.headers ?? {});
      expect(seen.filter((header) => !header.startsWith(':') && header !== 'host')).toEqual([]);
    });
  });
});
