import { X509Certificate, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { epoch, hours, millis } from '../../../src/clock.ts';
import { identityError } from '../../../src/transport/dial-tls.ts';
import { parseServerName } from '../../../src/transport/server-name.ts';
import { encodeCaCertificate, encodeName } from '../../../src/x509/create-ca.ts';
import { createSerial } from '../../../src/x509/serial.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { freePort } from '../../support/free-port.ts';
import { createLoopbackFetch, trustIn } from '../../support/loopback-fetch.ts';
import type { LoopbackFetch } from '../../support/loopback-fetch.ts';
import { createTestAuthority, issueServerCertificate } from '../../support/test-certificates.ts';
import type { ServerCertificate } from '../../support/test-certificates.ts';
import { startTlsOrigin } from '../../support/tls-origin.ts';
import type { TlsOrigin, TlsOriginOptions } from '../../support/tls-origin.ts';
import { waitFor } from '../../support/wait-for.ts';

const authority = createTestAuthority({ organisation: 'right' });
const right = trustIn(authority);
const wrong = trustIn(createTestAuthority({ organisation: 'wrong' }));
const forLocalhost = issueServerCertificate(authority, { names: ['localhost'] });
const now = Date.now();

type Answer = NonNullable<TlsOriginOptions['answer']>;

let loopback: LoopbackFetch;
let ends: (() => unknown)[];

beforeEach(() => {
  loopback = createLoopbackFetch();
  ends = [() => loopback.close()];
});
afterEach(async () => {
  for (const end of ends) await end();
});

async function origin(options: Partial<TlsOriginOptions> = {}): Promise<TlsOrigin & { readonly url: string }> {
  const started = await startTlsOrigin({ certificate: forLocalhost, ...options });
  ends.push(() => started.close());
  return { ...started, url: `https://localhost:${started.port}/` };
}

/** a server that is no TLS server */
async function tcpServer(serve: (socket: Socket) => void): Promise<string> {
  const server: Server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => new Promise((resolve) => server.close(resolve)));
  return `https://localhost:${(server.address() as AddressInfo).port}/`;
}

describe('an answer', () => {
  it('tells the status, the TLS version and the leaf', async () => {
    const { url } = await origin({ answer: (_, response) => response.writeHead(404).end('no') });
    const result = await loopback.fetch(url, right);
    expect(result).toEqual({
      kind: 'answered',
      status: 404,
      tls: {
        version: 'TLSv1.3',
        cipher: expect.stringMatching(/^TLS_/) as string,
        leaf: {
          subject: expect.stringMatching(/^serialNumber=/) as string,
          issuer: expect.stringMatching(/^O=right, CN=right CA/) as string,
          san: ['DNS:localhost'],
          serial: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
          notBefore: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
          notAfter: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
          sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        },
      },
    });
  });

  it('comes over TLS 1.2 from a server that has no newer', async () => {
    const { url } = await origin({ maxVersion: 'TLSv1.2' });
    expect(await loopback.fetch(url, right)).toMatchObject({ tls: { version: 'TLSv1.2' } });
  });

  it('counts although its body never ends', async () => {
    const { url } = await origin({ answer: (_, response) => response.write('data: 1\n\n') });
    expect(await loopback.fetch(url, right)).toMatchObject({ kind: 'answered', status: 200 });
  });

  it('counts although its body is larger than what is read', async () => {
    const { url } = await origin({ answer: (_, response) => response.end(Buffer.alloc(4 * 1024 * 1024)) });
    expect(await loopback.fetch(url, right)).toMatchObject({ kind: 'answered', status: 200 });
  });

  it('counts although its body breaks off', async () => {
    const { url } = await origin({
      answer: (_, response) => {
        response.writeHead(200, { 'content-length': 100 });
        response.write('half', () => response.destroy());
      },
    });
    expect(await loopback.fetch(url, right)).toMatchObject({ kind: 'answered', status: 200 });
  });

  it('names the leaf of its own connection, also after the server has changed certificates', async () => {
    const server = await origin();
    const before = await loopback.fetch(server.url, right);
    server.present(issueServerCertificate(authority, { names: ['localhost'] }));
    server.dropConnections();
    await waitFor('the connection to end', () => server.openConnections() === 0);
    const after = await loopback.fetch(server.url, right);
    if (before.kind !== 'answered' || after.kind !== 'answered') throw new Error('it was answered before');
    expect(after.tls.leaf.sha256).not.toBe(before.tls.leaf.sha256);
  });
});

describe('a certificate that does not verify', () => {
  const expired = { notBefore: epoch(now - hours(2)), notAfter: epoch(now - hours(1)) };
  const future = { notBefore: epoch(now + hours(1)), notAfter: epoch(now + hours(2)) };

  it.each<[string, ServerCertificate, string]>([
    ['expired', issueServerCertificate(authority, { names: ['localhost'], ...expired }), 'CERT_HAS_EXPIRED'],
    ['not yet valid', issueServerCertificate(authority, { names: ['localhost'], ...future }), 'CERT_NOT_YET_VALID'],
    ['for another name', issueServerCertificate(authority, { names: ['other'] }), 'ERR_TLS_CERT_ALTNAME_INVALID'],
    [
      'by another issuer',
      issueServerCertificate(createTestAuthority(), { names: ['localhost'] }),
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ],
  ])('gives the OpenSSL name and what was shown: %s', async (_, certificate, openssl) => {
    const { url } = await origin({ certificate });
    expect(await loopback.fetch(url, right)).toMatchObject({
      kind: 'failed',
      code: 'certificate',
      openssl,
      detail: expect.stringContaining(openssl) as string,
      presented: { serial: expect.stringMatching(/^[0-9a-f]+$/) as string },
    });
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'lets no credential and no body reach the server: %s',
    async (maxVersion) => {
      const server = await origin({ maxVersion });
      const post = {
        method: 'POST',
        headers: { authorization: 'Bearer the-credential' },
        body: 'the-body',
      } as const;
      for (const trust of [wrong, trustIn(authority, 'other.example')]) {
        expect(await loopback.fetch(server.url, trust, post)).toMatchObject({ code: 'certificate' });
      }
      await waitFor('both connections to end', () => server.openConnections() === 0);
      expect(server.seen).toMatchObject({ connections: 2, requests: 0, decrypted: '' });

      // the same request does arrive where the server is trusted, so the emptiness above means something
      expect(await loopback.fetch(server.url, right, post)).toMatchObject({ kind: 'answered' });
      expect(server.seen.decrypted).toContain('the-credential');
      expect(server.seen.decrypted).toContain('the-body');
    },
  );
});

describe('the name that is verified', () => {
  it('stays the URL’s when another address is dialled', async () => {
    const server = await origin({ certificate: issueServerCertificate(authority, { names: ['api.example.com'] }) });
    const dial = `127.0.0.1:${server.port}`;
    expect(await loopback.fetch('https://api.example.com/', right, { dial })).toMatchObject({ kind: 'answered' });
    expect(server.seen.decrypted).toContain('"host":"api.example.com"');
    expect(await loopback.fetch('https://www.example.com/', right, { dial })).toMatchObject({
      openssl: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });

  it('is the trust’s own when it has one', async () => {
    const server = await origin({ certificate: issueServerCertificate(authority, { names: ['api.example.com'] }) });
    const trust = trustIn(authority, 'api.example.com');
    expect(await loopback.fetch(`https://127.0.0.1:${server.port}/`, trust)).toMatchObject({ kind: 'answered' });
    expect(server.seen.serverNames).toEqual(['api.example.com']);
  });

  it('is not looked for in the subject, where only old clients do', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const subjectDer = encodeName('test', 'api.example.com');
    const der = encodeCaCertificate({
      ...{ subjectDer, publicKey, serial: createSerial(randomBytes) },
      notBefore: epoch(now - hours(1)),
      notAfter: epoch(now + hours(1)),
      issuer: { subjectDer, key: privateKey },
    });
    const host = parseServerName('api.example.com')!;
    expect(new X509Certificate(der).checkHost('api.example.com')).toBe('api.example.com');
    expect(identityError(host, der)).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    const named = issueServerCertificate(authority, { names: ['api.example.com'] });
    expect(identityError(host, new X509Certificate(named.chainPem).raw)).toBeUndefined();
  });

  it('may be an address', async () => {
    const server = await origin({ certificate: issueServerCertificate(authority, { names: ['127.0.0.1'] }) });
    expect(await loopback.fetch(`https://127.0.0.1:${server.port}/`, right)).toMatchObject({
      tls: { leaf: { san: ['IP Address:127.0.0.1'] } },
    });
    expect(server.seen.serverNames).toEqual([false]);
    expect(await loopback.fetch(server.url, right)).toMatchObject({ openssl: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });
});

describe('a redirect', () => {
  const to = (location: string): Answer => {
    return (_, response) => void response.writeHead(302, { location }).end();
  };

  it.each(['/next', '?a=b', 'next'])('on the origin is told as its status and not followed: %s', async (location) => {
    const server = await origin({ answer: to(location) });
    expect(await loopback.fetch(server.url, right)).toMatchObject({ kind: 'answered', status: 302 });
    expect(server.seen.requests).toBe(1);
  });

  it('to the origin by its whole URL is on the origin', async () => {
    const server = await origin({
      answer: (request, response) =>
        void response.writeHead(301, { location: `https://LOCALHOST:${request.socket.localPort ?? 0}/a` }).end(),
    });
    expect(await loopback.fetch(server.url, right)).toMatchObject({ kind: 'answered', status: 301 });
  });

  it.each(['https://other.example/', '//other.example/', 'http://localhost/', 'https://u:p@localhost/', 'data:,x'])(
    'off the origin is refused: %s',
    async (location) => {
      const server = await origin({ answer: to(location) });
      expect(await loopback.fetch(server.url, right)).toMatchObject({
        kind: 'failed',
        code: 'redirect-refused',
        status: 302,
        tls: { leaf: { san: ['DNS:localhost'] } },
      });
      expect(server.seen.requests).toBe(1);
    },
  );

  it('to plain HTTP on the same host and port is off the origin', async () => {
    const server = await origin({
      answer: (request, response) =>
        void response.writeHead(307, { location: `http://localhost:${request.socket.localPort ?? 0}/` }).end(),
    });
    expect(await loopback.fetch(server.url, right)).toMatchObject({ code: 'redirect-refused' });
  });
});

describe('what fails below HTTP', () => {
  it('is connection-refused where nobody listens', async () => {
    const url = `https://localhost:${await freePort()}/`;
    expect(await loopback.fetch(url, right)).toMatchObject({ code: 'connection-refused', peer: 'server' });
  });

  it('is dns where the name has no address', async () => {
    // RFC 6761 6.4: it never resolves
    expect(await loopback.fetch('https://nowhere.invalid/', right)).toMatchObject({ code: 'dns' });
  });

  it('is tls-handshake, not plain HTTP, where the server speaks no TLS', async () => {
    let received = '';
    const url = await tcpServer((socket) => {
      socket.on('data', (chunk) => {
        received += chunk.toString('latin1');
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
    });
    const headers = { authorization: 'Bearer the-credential' };
    expect(await loopback.fetch(url, right, { headers })).toMatchObject({
      code: 'tls-handshake',
      alert: 'wrong-version-number',
    });
    expect(received).not.toContain('the-credential');
  });

  it('is tls-handshake with the name of the alert', async () => {
    const unrecognizedName = Buffer.from([0x15, 3, 3, 0, 2, 2, 112]);
    const url = await tcpServer((socket) => socket.once('data', () => socket.end(unrecognizedName)));
    expect(await loopback.fetch(url, right)).toMatchObject({ code: 'tls-handshake', alert: 'unrecognized-name' });
  });

  it('is connection-closed where the server hangs up in the handshake', async () => {
    const url = await tcpServer((socket) => socket.once('data', () => socket.destroy()));
    expect(await loopback.fetch(url, right)).toMatchObject({ code: 'connection-closed', peer: 'server' });
  });

  it('is connection-closed where the server hangs up instead of answering', async () => {
    const { url } = await origin({ answer: (request) => request.socket.destroy() });
    expect(await loopback.fetch(url, right)).toMatchObject({ code: 'connection-closed' });
  });

  it('is bad-response where the answer is not HTTP', async () => {
    const { url } = await origin({ answer: (request) => request.socket.end('220 mail.example ESMTP\r\n') });
    expect(await loopback.fetch(url, right)).toMatchObject({ code: 'bad-response' });
  });

  it('is timeout where the server never answers', async () => {
    const clock = createFakeClock();
    const answered = Promise.withResolvers<undefined>();
    const { url } = await origin({ answer: () => answered.resolve(undefined) });
    const result = loopback.fetch(url, right, { clock, timeoutMs: millis(3000) });
    await answered.promise;
    clock.advance(3000);
    expect(await result).toMatchObject({ code: 'timeout', detail: expect.stringContaining('3000 ms') as string });
  });

  it('is timeout where the handshake never ends', async () => {
    const clock = createFakeClock();
    const own = createLoopbackFetch({ clock });
    ends.push(() => own.close());
    const connected = Promise.withResolvers<Socket>();
    const url = await tcpServer((socket) => connected.resolve(socket));
    const result = own.fetch(url, right);
    const socket = await connected.promise;
    clock.advance(10_000);
    expect(await result).toMatchObject({ code: 'timeout', detail: expect.stringContaining('verified') as string });
    await waitFor('the attempt to be given up', () => socket.destroyed || socket.readableEnded);
    socket.destroy();
  });
});

describe('a kept connection that the server has closed', () => {
  /** answers the first request of each connection, then hangs up on the second */
  const onceEach: Answer = (request, response) => {
    if (served.has(request.socket)) request.socket.destroy();
    else response.end('hello');
    served.add(request.socket);
  };
  const served = new WeakSet<object>();

  it('is replaced once for a GET, since nothing is lost by asking again', async () => {
    const server = await origin({ answer: onceEach });
    await loopback.fetch(server.url, right);
    expect(await loopback.fetch(server.url, right)).toMatchObject({ kind: 'answered' });
    expect(server.seen.requests).toBe(3);
  });

  it('is not replaced for a POST, which may have been done', async () => {
    const server = await origin({ answer: onceEach });
    await loopback.fetch(server.url, right);
    expect(await loopback.fetch(server.url, right, { method: 'POST', body: 'x' })).toMatchObject({
      code: 'connection-closed',
    });
    expect(server.seen.requests).toBe(2);
  });
});

describe('a request', () => {
  it.each(['Host', 'connection', 'Proxy-Authorization', 'transfer-encoding'])('may not set %s', async (name) => {
    await expect(loopback.fetch('https://localhost/', right, { headers: { [name]: 'x' } })).rejects.toMatchObject({
      code: 'fetch-header-reserved',
    });
  });

  it('to plain HTTP is refused before anything is sent', async () => {
    await expect(loopback.fetch('http://localhost/', right)).rejects.toMatchObject({ code: 'fetch-url-not-https' });
  });
});
