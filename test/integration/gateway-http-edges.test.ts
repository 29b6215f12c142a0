// The edges of HTTP: what is above a limit, broken off, ambiguous, old, or meant for Envoy itself. Each ends in an answer
// or a visible break, and never in something else than what was sent.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maxHeaderCount, maxRequestHeadersKb } from '../../src/bootstrap/limits.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { askHttp1, askHttp2, openHttp2Over, talkHttp } from '../support/http-in-tunnel.ts';
import { startHttpOrigin, type HttpOrigin, type HttpVersion } from '../support/http-origin.ts';
import { openTlsInTunnel } from '../support/open-tunnel.ts';
import { rawExchange } from '../support/raw-proxy-client.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { waitFor, withDeadline } from '../support/wait-for.ts';
import { startWholeGateway, type WholeGateway } from '../support/whole-gateway.ts';

const host = 'origin.test';
const versions = ['h2', 'http/1.1'] as const;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

describeWithTools('HTTP at its edges', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  const answers = new Map<string, Answer>();
  const origins = new Map<HttpVersion | 'clear', HttpOrigin>();
  let gateway: WholeGateway;

  beforeAll(async () => {
    const authority = createTestAuthority();
    const certificate = issueServerCertificate(authority, { names: [host] });
    const answer: Answer = (request, response) => {
      const found = answers.get(request.url ?? '');
      if (found !== undefined) found(request, response);
      else request.resume().on('end', () => response.end(`answer to ${request.url ?? ''}`));
    };
    for (const version of versions) {
      origins.set(version, await startHttpOrigin({ certificate, speaks: [version], answer }));
    }
    origins.set('clear', await startHttpOrigin({ answer }));
    gateway = await startWholeGateway({ envoy, origins: authority, names: { [host]: ['127.0.0.1'] } });
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all([...origins.values()].map((origin) => origin.close()));
  });

  function authorityOf(name: HttpVersion | 'clear'): string {
    return `${host}:${origins.get(name)?.port ?? 0}`;
  }

  function open(client: HttpVersion, name: HttpVersion): Promise<TLSSocket> {
    const target = { proxyPort: gateway.port, authority: authorityOf(name), ca: gateway.caPem };
    return openTlsInTunnel({ ...target, alpn: [client] });
  }

  /** what comes back for bytes inside intercepted TLS, until it fits or the connection ends */
  async function sayRaw(text: string, until: RegExp): Promise<string> {
    const tls = await open('http/1.1', 'http/1.1');
    let received = '';
    tls.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    tls.write(text, 'latin1');
    await waitFor(`${String(until)} in ${JSON.stringify(received)}`, () => until.test(received) || tls.closed);
    tls.destroy();
    return received;
  }

  describe('headers above the limit', () => {
    const tooLarge = { 'x-large': 'a'.repeat(maxRequestHeadersKb * 1024 + 1) };
    const tooMany = Object.fromEntries(Array.from({ length: maxHeaderCount + 1 }, (_, index) => [`x-${index}`, '1']));

    test.each([
      ['large', tooLarge],
      ['many', tooMany],
    ])(
      'that are too %s are refused over HTTP/1.1 with 431, and over HTTP/2 by a reset of the stream',
      async (what, headers) => {
        const path = `/too-${what}`;
        const question = { authority: authorityOf('http/1.1'), path, headers };
        const http1 = await open('http/1.1', 'http/1.1');
        const answer = await askHttp1(http1, question);
        expect([answer.status, answer.headers['x-leafgate-error']]).toEqual([431, 'request_too_large']);
        const http2 = await open('h2', 'http/1.1');
        const session = openHttp2Over(http2, question.authority);
        await expect(askHttp2(session, question)).rejects.toThrow(/NGHTTP2_INTERNAL_ERROR|NGHTTP2_ENHANCE_YOUR_CALM/);
        // the connection serves on
        expect(await askHttp2(session, { ...question, path: '/after', headers: {} })).toMatchObject({ status: 200 });
        expect(origins.get('http/1.1')?.seen(path)).toBeUndefined();
        http2.destroy();
      },
    );

    test.each(versions)('in an answer of an origin that speaks %s are its failure', async (name) => {
      answers.set('/large-answer', (_, response) => {
        response.writeHead(200, { 'x-large': 'a'.repeat(2 * maxRequestHeadersKb * 1024) }).end();
      });
      const tls = await open('http/1.1', name);
      const answer = await askHttp1(tls, { authority: authorityOf(name), path: '/large-answer' });
      expect([answer.status, answer.headers['x-leafgate-error']]).toEqual([502, 'origin_failed']);
    });
  });

  describe.each(versions)('a body, for a client of %s,', (client) => {
    test.each(versions)('that an origin of %s breaks off is seen to be broken', async (name) => {
      const path = `/broken-${client}`;
      answers.set(path, (_, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('half', () => setTimeout(() => response.destroy(), 50));
      });
      const tls = await open(client, name);
      const question = { authority: authorityOf(name), path };
      const asking =
        client === 'h2' ? askHttp2(openHttp2Over(tls, question.authority), question) : askHttp1(tls, question);
      await expect(asking).rejects.toThrow(/aborted|INTERNAL_ERROR|PROTOCOL_ERROR|CANCEL|hang up|ECONNRESET/i);
      const record = await gateway.recordOf(path, (one) => one.path === path && one.port === origins.get(name)?.port);
      expect(record).toMatchObject({ outcome: 'failed', status: 200, bytesSent: 4 });
      tls.destroy();
    });

    test.each(versions)('that the client breaks off is broken off at an origin of %s', async (name) => {
      const path = `/abandoned-${client}-${name}`;
      const gone = new Promise<void>((resolve) => {
        answers.set(path, (request) => request.on('data', () => undefined).on('close', () => resolve()));
      });
      const tls = await open(client, name);
      const talk = talkHttp(client, tls, { authority: authorityOf(name), path, method: 'POST' });
      talk.write('some');
      await waitFor('the request at the origin', () => origins.get(name)?.seen(path));
      tls.destroy();
      await withDeadline('the end at the origin', gone);
    });
  });

  test('an interim answer of the origin arrives before the real one', async () => {
    answers.set('/hints', (_, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      response.end('after the hints');
    });
    const tls = await open('http/1.1', 'http/1.1');
    const answer = await askHttp1(tls, { authority: authorityOf('http/1.1'), path: '/hints' });
    expect(answer).toMatchObject({ status: 200, body: 'after the hints', informational: [103] });
  });

  test('HTTP/1.0 inside TLS is answered in HTTP/1.0, and closed', async () => {
    const received = await sayRaw(`GET /old HTTP/1.0\r\nHost: ${authorityOf('http/1.1')}\r\n\r\n`, /answer to \/old/);
    expect(received).toMatch(/^HTTP\/1\.0 200 OK\r\n(?:.*\r\n)*connection: close\r\n/);
    expect(origins.get('http/1.1')?.seen('/old')).toMatchObject({ version: '1.1' });
  });

  test('pipelined requests inside TLS are answered in their order, by one connection to the origin', async () => {
    answers.set('/slow', (_, response) => void setTimeout(() => response.end('answer to /slow'), 100));
    const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: ${authorityOf('http/1.1')}\r\n\r\n`;
    const received = await sayRaw(`${get('/slow')}${get('/quick')}${get('/end')}`, /answer to \/end/);
    expect([...received.matchAll(/answer to (\/[a-z]+)/g)].map(([, path]) => path)).toEqual([
      '/slow',
      '/quick',
      '/end',
    ]);
    const ports = ['/slow', '/quick', '/end'].map((path) => origins.get('http/1.1')?.seen(path)?.fromPort);
    expect(new Set(ports).size).toBe(1);
  });

  test.each([
    ['two lengths', 'Content-Length: 4\r\nContent-Length: 5\r\n'],
    ['a length and chunks', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n'],
    ['chunks that are not the last coding', 'Transfer-Encoding: chunked, gzip\r\n'],
    ['a space before the colon', 'X-Space : a\r\n'],
    ['a zero byte in a header', 'X-Zero: a\0b\r\n'],
    ['two Hosts', 'Host: other.test\r\n'],
  ])('a request with %s, which two readers would read differently, never reaches the origin', async (what, headers) => {
    const path = `/ambiguous-${encodeURIComponent(what)}`;
    const start = `POST ${path} HTTP/1.1\r\nHost: ${authorityOf('http/1.1')}\r\n`;
    const received = await sayRaw(`${start}${headers}\r\n0\r\n\r\n`, /\r\n\r\n/);
    expect(received).toMatch(/^HTTP\/1\.1 (?:400|403|501) /);
    expect(origins.get('http/1.1')?.seen(path)).toBeUndefined();
  });

  test.each([
    ['GET', 200, 2],
    ['POST', 502, 1],
  ])(
    'a %s whose kept connection the origin closes is answered with %i: the origin is asked %i times',
    async (method, status, times) => {
      const path = `/closed-when-kept-${method}`;
      const ports = new Set<number | undefined>();
      answers.set(path, (request, response) => {
        const port = request.socket.remotePort;
        // the first request of a connection is served, the next one ends it
        if (ports.size === 0) response.end('first');
        else if (ports.has(port)) request.socket.destroy();
        else response.end('again');
        ports.add(port);
      });
      const ask = { authority: authorityOf('http/1.1'), path };
      const session = openHttp2Over(await open('h2', 'http/1.1'), ask.authority);
      expect((await askHttp2(session, ask)).body).toBe('first');
      expect((await askHttp2(session, { ...ask, method })).status).toBe(status);
      const asked = origins.get('http/1.1')?.requests.filter((request) => request.path === path) ?? [];
      expect(asked).toHaveLength(1 + times);
      session.destroy();
    },
  );

  test('headers that steer Envoy steer nothing when a client sends them', async () => {
    const steering = {
      'x-envoy-upstream-rq-timeout-ms': '1',
      'x-envoy-upstream-rq-per-try-timeout-ms': '1',
      'x-envoy-retry-on': '5xx',
      'x-envoy-max-retries': '5',
      'x-envoy-upstream-alt-stat-name': 'chosen-by-client',
      'x-envoy-original-path': '/elsewhere',
      'x-envoy-force-trace': 'true',
      // the address of a client that Envoy would trust
      'x-forwarded-for': '10.0.0.1',
      'x-envoy-internal': 'true',
    };
    answers.set(
      '/steered',
      (_, response) => void setTimeout(() => response.writeHead(503, { 'content-length': '4' }).end('slow'), 100),
    );
    for (const name of versions) {
      const tls = await open(name, name);
      const question = { authority: authorityOf(name), path: '/steered', headers: steering };
      const answer =
        name === 'h2'
          ? await askHttp2(openHttp2Over(tls, question.authority), question)
          : await askHttp1(tls, question);
      expect(answer).toMatchObject({ status: 503, body: 'slow' });
      expect(origins.get(name)?.requests.filter(({ path }) => path === '/steered')).toHaveLength(1);
      tls.destroy();
    }
    const lines = Object.entries(steering).map(([header, value]) => `${header}: ${value}\r\n`);
    const url = `http://${authorityOf('clear')}/steered`;
    const send = `GET ${url} HTTP/1.1\r\nHost: ${authorityOf('clear')}\r\n${lines.join('')}\r\n`;
    const clear = await rawExchange({ port: gateway.port, send });
    expect([clear.status, clear.body]).toEqual([503, 'slow']);
    expect(origins.get('clear')?.requests).toHaveLength(1);
    const stats = await gateway.admin.readStats('chosen');
    expect([...stats.keys()]).toEqual([]);
  });
});
