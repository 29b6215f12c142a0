import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { millis } from '../../../src/clock.ts';
import { parseHttpProxy } from '../../../src/transport/http-proxy.ts';
import { startConnectProxy } from '../../support/connect-proxy.ts';
import type { ConnectProxy, ProxyMode } from '../../support/connect-proxy.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { freePort } from '../../support/free-port.ts';
import { createLoopbackFetch, trustIn } from '../../support/loopback-fetch.ts';
import type { LoopbackFetch } from '../../support/loopback-fetch.ts';
import { createTestAuthority, issueServerCertificate } from '../../support/test-certificates.ts';
import { startTlsOrigin } from '../../support/tls-origin.ts';
import type { TlsOrigin } from '../../support/tls-origin.ts';
import { waitFor } from '../../support/wait-for.ts';

const authority = createTestAuthority({ organisation: 'right' });
const right = trustIn(authority);
const wrong = trustIn(createTestAuthority({ organisation: 'wrong' }));
const url = 'https://api.example.com/';

let origin: TlsOrigin;
let loopback: LoopbackFetch;
let ends: (() => unknown)[];

beforeEach(async () => {
  origin = await startTlsOrigin({ certificate: issueServerCertificate(authority, { names: ['api.example.com'] }) });
  loopback = createLoopbackFetch();
  ends = [() => loopback.close(), () => origin.close()];
});
afterEach(async () => {
  for (const end of ends) await end();
});

async function proxyThat(mode: ProxyMode): Promise<ConnectProxy & { readonly way: ReturnType<typeof parseHttpProxy> }> {
  const proxy = await startConnectProxy(mode);
  ends.unshift(() => proxy.close());
  return { ...proxy, way: parseHttpProxy(proxy.url) };
}

const tunnel: ProxyMode = { kind: 'tunnel', route: () => origin.port };

describe('a tunnel', () => {
  it('carries TLS end to end: the server is verified, not the proxy', async () => {
    const proxy = await proxyThat(tunnel);
    expect(await loopback.fetch(url, right, { proxy: proxy.way })).toMatchObject({ kind: 'answered', status: 200 });
    expect(proxy.asked).toEqual(['api.example.com:443']);
    expect(proxy.requests[0]?.headers).toMatchObject({ host: 'api.example.com:443' });
  });

  it('is asked for the address to dial, while SNI, Host and verification keep the URL’s', async () => {
    const proxy = await proxyThat(tunnel);
    const result = await loopback.fetch(url, right, { proxy: proxy.way, dial: '[2001:db8::7]:8443' });
    expect(result).toMatchObject({ kind: 'answered' });
    expect(proxy.asked).toEqual(['[2001:db8::7]:8443']);
    expect(origin.seen.decrypted).toContain('"host":"api.example.com"');
  });

  it('is opened with the credentials of the proxy, which the server never sees', async () => {
    const proxy = await proxyThat(tunnel);
    const way = parseHttpProxy(proxy.url.replace('//', '//user:secret@'));
    await loopback.fetch(url, right, { proxy: way });
    const value = `Basic ${Buffer.from('user:secret').toString('base64')}`;
    expect(proxy.requests[0]?.headers['proxy-authorization']).toBe(value);
    expect(origin.seen.decrypted).not.toContain('proxy-authorization');
  });

  it('is re-used for the same trust and never for another', async () => {
    const proxy = await proxyThat(tunnel);
    await loopback.fetch(url, right, { proxy: proxy.way });
    await loopback.fetch(url, right, { proxy: proxy.way });
    expect(proxy.asked).toHaveLength(1);
    expect(await loopback.fetch(url, wrong, { proxy: proxy.way })).toMatchObject({ code: 'certificate' });
    expect(proxy.asked).toHaveLength(2);
  });

  it('shows no credential and no body to whoever opens it without a trusted certificate', async () => {
    const proxy = await proxyThat(tunnel);
    const post = { method: 'POST', headers: { authorization: 'Bearer the-credential' }, body: 'the-body' } as const;
    expect(await loopback.fetch(url, wrong, { proxy: proxy.way, ...post })).toMatchObject({ code: 'certificate' });
    expect(proxy.sent().length).toBeGreaterThan(0);
    expect(proxy.sent()).not.toMatch(/the-credential|the-body|POST/);
    expect(origin.seen).toMatchObject({ requests: 0, decrypted: '' });
  });
});

describe('a proxy that refuses', () => {
  it.each<[string, Omit<Extract<ProxyMode, { kind: 'refuse' }>, 'kind'>, object]>([
    ['its rule in the header', { status: 403, rule: 'deny:ads' }, { status: 403, rule: 'deny:ads' }],
    [
      'its rule in the body',
      { status: 403, body: '{"error":"blocked_by_policy","rule":"deny:ads"}' },
      { status: 403, rule: 'deny:ads', error: 'blocked_by_policy' },
    ],
    ['an error word', { status: 503, body: '{"error":"egress_error"}' }, { status: 503, error: 'egress_error' }],
    ['no reason', { status: 407 }, { status: 407 }],
    ['a redirect', { status: 302 }, { status: 302 }],
    ['a page of its own', { status: 502, body: '<html></html>' }, { status: 502 }],
  ])('is refused-by-proxy with %s', async (_, refusal, facts) => {
    const proxy = await proxyThat({ kind: 'refuse', ...refusal });
    const result = await loopback.fetch(url, right, { proxy: proxy.way });
    expect(result).toEqual({
      kind: 'failed',
      code: 'refused-by-proxy',
      detail: expect.stringContaining(`answered ${refusal.status} to CONNECT api.example.com:443`) as string,
      ...facts,
    });
  });

  it('is not waited for when its body never comes', async () => {
    const url2 = await rawProxy('HTTP/1.1 403 Forbidden\r\nx-leafgate-rule: deny:ads\r\ncontent-length: 99\r\n\r\n{');
    expect(await loopback.fetch(url, right, { proxy: parseHttpProxy(url2) })).toMatchObject({ rule: 'deny:ads' });
  });
});

describe('a proxy that does not do its part', () => {
  it('is connection-refused at the proxy where nobody listens', async () => {
    const proxy = parseHttpProxy(`http://127.0.0.1:${await freePort()}`);
    expect(await loopback.fetch(url, right, { proxy })).toMatchObject({ code: 'connection-refused', peer: 'proxy' });
  });

  it('is bad-response at the proxy where it speaks no HTTP', async () => {
    const proxy = parseHttpProxy(await rawProxy('SSH-2.0-OpenSSH\r\n'));
    expect(await loopback.fetch(url, right, { proxy })).toMatchObject({ code: 'bad-response', peer: 'proxy' });
  });

  it('is connection-closed where it hangs up instead of answering', async () => {
    const proxy = parseHttpProxy(await rawProxy(''));
    expect(await loopback.fetch(url, right, { proxy })).toMatchObject({ code: 'connection-closed', peer: 'proxy' });
  });

  it('is connection-closed where the tunnel ends before the handshake', async () => {
    const proxy = await proxyThat({ kind: 'hang-up' });
    expect(await loopback.fetch(url, right, { proxy: proxy.way })).toMatchObject({
      code: 'connection-closed',
      peer: 'server',
    });
  });

  it('is timeout where it never answers, and the attempt is given up', async () => {
    const clock = createFakeClock();
    const own = createLoopbackFetch({ clock });
    ends.unshift(() => own.close());
    const proxy = await proxyThat({ kind: 'silent' });
    const result = own.fetch(url, right, { proxy: proxy.way });
    await waitFor('the CONNECT', () => proxy.asked.length === 1);
    clock.advance(10_000);
    expect(await result).toMatchObject({ code: 'timeout' });
    await waitFor('the connection to end', () => proxy.openConnections() === 0);
  });

  it('is given up when the registry closes', async () => {
    const proxy = await proxyThat({ kind: 'silent' });
    const result = loopback.fetch(url, right, { proxy: proxy.way, timeoutMs: millis(60_000) });
    await waitFor('the CONNECT', () => proxy.asked.length === 1);
    await loopback.close();
    expect(await result).toMatchObject({ code: 'connection-closed' });
    await waitFor('the connection to end', () => proxy.openConnections() === 0);
  });
});

/** answers whatever comes with these bytes, then ends unless more was announced */
async function rawProxy(answer: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => (answer.includes('content-length: 99') ? socket.write(answer) : socket.end(answer)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
