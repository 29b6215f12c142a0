// How a client may speak to the proxy itself: CONNECT in three versions of HTTP, requests without a tunnel, names and
// addresses of both families; and where that ends: what cannot work is tested as what it is.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { connect as connectHttp2, type ClientHttp2Session, type OutgoingHttpHeaders } from 'node:http2';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { noSniHost } from '../../src/settings/gateway-spec.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { askHttp1 } from '../support/http-in-tunnel.ts';
import { startHttpOrigin, type HttpOrigin } from '../support/http-origin.ts';
import { openTlsInTunnel, openTunnel, proxyProtocols } from '../support/open-tunnel.ts';
import { connectRequest, plainGet, rawExchange } from '../support/raw-proxy-client.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { handshakeInTunnel } from '../support/tunnel-tls.ts';
import { withDeadline } from '../support/wait-for.ts';
import { startWholeGateway, type WholeGateway } from '../support/whole-gateway.ts';

const host = 'origin.test';

describeWithTools('the explicit proxy', ['envoy-1.40.0', 'curl', 'openssl'], (tools) => {
  const { 'envoy-1.40.0': envoy, curl, openssl } = tools;
  let gateway: WholeGateway;
  let tls: HttpOrigin;
  let clear: HttpOrigin;
  let clear6: HttpOrigin;
  let slowFirst: HttpOrigin;

  beforeAll(async () => {
    const authority = createTestAuthority();
    tls = await startHttpOrigin({ certificate: issueServerCertificate(authority, { names: [host] }) });
    clear = await startHttpOrigin();
    slowFirst = await startHttpOrigin({
      answer: ({ url }, response) => {
        const body = `answer to ${url ?? ''}`;
        if (url === '/slow') setTimeout(() => response.end(body), 100);
        else response.end(body);
      },
    });
    clear6 = await startHttpOrigin({ address: '::1' });
    gateway = await startWholeGateway({
      ...{ envoy, origins: authority },
      names: { [host]: ['127.0.0.1'], 'six.test': ['::1'] },
    });
    writeFileSync(gateway.folder.file('ca.pem'), gateway.caPem);
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all([tls, clear, clear6, slowFirst].map((origin) => origin.close()));
  });

  const curlThrough = (...args: readonly string[]) =>
    runCommand(curl, ['-sS', '-m', '15', '-x', `http://127.0.0.1:${gateway.port}`, ...args], {
      env: scrubbedEnvironment(gateway.folder.path),
    });

  test.each(proxyProtocols)('takes a CONNECT over %s, for TLS and for clear HTTP', async (protocol) => {
    const secure = `${host}:${tls.port}`;
    const target = { proxyPort: gateway.port, authority: secure, protocol };
    const stream = await openTlsInTunnel({ ...target, ca: gateway.caPem, alpn: ['http/1.1'] });
    expect(await askHttp1(stream, { authority: secure, path: '/' })).toMatchObject({
      status: 200,
      body: 'hello over 2.0',
    });
    stream.destroy();
    const inClear = `${host}:${clear.port}`;
    const tunnel = await openTunnel({ ...target, authority: inClear });
    expect(await askHttp1(tunnel, { authority: inClear, path: '/' })).toMatchObject({ body: 'hello over 1.1' });
    tunnel.destroy();
    const record = await gateway.lineOf(
      'the CONNECT',
      ({ leg, text }) => leg === 'connect' && text.protocol === protocol,
    );
    expect(record.text).toMatchObject({ host, rule: 'intercept:default' });
  });

  test('takes the CONNECT of `openssl s_client`, which speaks HTTP/1.0', async () => {
    const { stdout } = await runCommand(
      openssl,
      ['s_client', '-proxy', `127.0.0.1:${gateway.port}`, '-connect', `${host}:${tls.port}`, '-servername', host],
      { env: scrubbedEnvironment(gateway.folder.path), input: '' },
    );
    expect(stdout).toMatch(/issuer=.*leafgate CA/);
  });

  test('takes requests without a tunnel over HTTP/1.0, 1.1 and 2', async () => {
    const url = `http://${host}:${clear.port}`;
    const ask = (version: string) =>
      rawExchange({
        port: gateway.port,
        send: `GET ${url}/${version} HTTP/${version}\r\nHost: ${host}\r\n\r\n`,
        until: 'hello over 1.1',
      });
    for (const version of ['1.0', '1.1']) expect((await ask(version)).text).toContain(`HTTP/${version} 200`);
    const authority = `${host}:${clear.port}`;
    const answer = await askProxyHttp2({ ':scheme': 'http', ':authority': authority, ':path': '/two' });
    expect(answer).toMatchObject({ status: 200, body: 'hello over 1.1' });
    expect(clear.requests.map(({ path }) => path)).toEqual(expect.arrayContaining(['/1.0', '/1.1', '/two']));
  });

  test('sends nothing in clear that was asked for as https, and says what to do', async () => {
    const authority = `${host}:${clear.port}`;
    const before = clear.connections();
    const overHttp2 = { ':scheme': 'https', ':authority': authority, ':path': '/secret' };
    for (const more of ['', 'X-Forwarded-Proto: http\r\n']) {
      const send = `GET https://${authority}/secret HTTP/1.1\r\nHost: ${authority}\r\n${more}\r\n`;
      const { status, headers } = await rawExchange({ port: gateway.port, send });
      expect([status, headers['x-leafgate-error']]).toEqual([421, 'tunnel_required']);
      const answer = await askProxyHttp2({ ...overHttp2, ...(more === '' ? {} : { 'x-forwarded-proto': 'http' }) });
      expect([answer.status, answer.headers['x-leafgate-error']]).toEqual([421, 'tunnel_required']);
    }
    for (const scheme of ['wss', 'HTTPS', 'ftp']) {
      const { status } = await askProxyHttp2({ ...overHttp2, ':scheme': scheme });
      expect([scheme, status]).toEqual([scheme, 421]);
    }
    expect(clear.connections()).toBe(before);
    await gateway.recordOf('the refusal', ({ reason }) => reason?.words.includes('without a CONNECT') === true);
  });

  test.each([
    ['an IPv4 literal', () => `127.0.0.1:${clear.port}`],
    ['an IPv6 literal', () => `[::1]:${clear6.port}`],
    ['an IPv6 literal, written at length', () => `[0:0::0:1]:${clear6.port}`],
    ['a name with only an IPv6 address', () => `six.test:${clear6.port}`],
  ])('reaches %s in clear, with and without a tunnel', async (_, authority) => {
    expect((await plainGet(gateway.port, `http://${authority()}/`)).status).toBe(200);
    const tunnel = await openTunnel({ proxyPort: gateway.port, authority: authority() });
    expect(await askHttp1(tunnel, { authority: authority(), path: '/' })).toMatchObject({ status: 200 });
    tunnel.destroy();
  });

  test.each(['127.0.0.1', '[::1]'])('fails TLS to the literal %s with a name that explains it', async (literal) => {
    const url = `https://${literal}:${tls.port}/literal`;
    const { status, stderr } = await curlThrough('-v', '--cacert', gateway.folder.file('ca.pem'), url);
    expect(status).toBe(60);
    expect(stderr).toMatch(/no alternative certificate subject name matches/);
    const target = { proxyPort: gateway.port, authority: `${literal}:${tls.port}`, serverName: undefined };
    expect(await handshakeInTunnel(target)).toMatchObject({ subjectAltName: `DNS:${noSniHost}` });
    const insecure = await curlThrough('-k', '-w', '%{http_code}', url);
    expect(insecure.stdout).toMatch(/"error":"name_mismatch".*403$/s);
    expect(tls.seen('/literal')).toBeUndefined();
  });

  test('has none of Envoy’s headers in what it answers by itself', async () => {
    const authority = `${host}:${clear.port}`;
    for (const answer of [
      await rawExchange({ port: gateway.port, send: connectRequest(authority), until: '\r\n\r\n' }),
      await rawExchange({ port: gateway.port, send: connectRequest('10.0.0.1:443') }),
      await plainGet(gateway.port, 'http://nowhere.test/'),
      await rawExchange({ port: gateway.port, send: 'NONSENSE\r\n\r\n' }),
    ]) {
      expect(answer.status).not.toBe(0);
      const own = ['date', 'connection', 'content-length', 'content-type', 'x-leafgate-error', 'x-leafgate-cause'];
      expect(Object.keys(answer.headers).filter((header) => !own.includes(header))).toEqual([]);
      expect(answer.text).not.toMatch(/envoy/i);
    }
  });

  test('serves two hosts over one kept connection, each from its own origin', async () => {
    const socket = connect(gateway.port, '127.0.0.1');
    const ask = (authority: string, path: string) => askHttp1KeptAlive(socket, authority, path);
    for (const path of ['/kept-1', '/kept-2']) {
      expect(await ask(`${host}:${clear.port}`, path)).toMatch(/^HTTP\/1\.1 200/);
      expect(await ask(`six.test:${clear6.port}`, path)).toMatch(/^HTTP\/1\.1 200/);
    }
    socket.destroy();
    for (const origin of [clear, clear6]) {
      const kept = origin.requests.filter(({ path }) => path.startsWith('/kept'));
      expect(kept.map(({ path }) => path)).toEqual(['/kept-1', '/kept-2']);
      // the connection to the origin is kept and used again, too
      expect(new Set(kept.map(({ fromPort }) => fromPort)).size).toBe(1);
    }
  });

  test('answers pipelined requests in their order', async () => {
    const authority = `${host}:${slowFirst.port}`;
    const request = (path: string): string => `GET http://${authority}${path} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
    const send = `${request('/slow')}${request('/fast')}${request('/last')}`;
    const { text } = await rawExchange({ port: gateway.port, send, until: 'answer to /last' });
    expect([...text.matchAll(/answer to (\/[a-z]+)/g)].map(([, path]) => path)).toEqual(['/slow', '/fast', '/last']);
  });

  test.each([
    ['connect-udp', '/.well-known/masque/udp/origin.test/443/'],
    ['foo', '/'],
  ])('an extended CONNECT to %s is refused, and reaches nobody', async (protocol, path) => {
    const before = clear.connections();
    const authority = `${host}:${clear.port}`;
    const pseudo = { ':method': 'CONNECT', ':protocol': protocol, ':scheme': 'http', ':authority': authority };
    const answer = await askProxyHttp2({ ...pseudo, ':path': path });
    expect([answer.status, answer.headers['x-leafgate-error']]).toEqual([501, 'upgrade_refused']);
    expect(clear.connections()).toBe(before);
  });

  async function askProxyHttp2(headers: OutgoingHttpHeaders) {
    const session: ClientHttp2Session = connectHttp2(`http://127.0.0.1:${gateway.port}`);
    await withDeadline('settings', once(session, 'remoteSettings'));
    const stream = session.request(headers);
    let body = '';
    stream.on('data', (chunk: Buffer) => (body += chunk.toString()));
    const [got] = (await withDeadline('an answer', once(stream, 'response'))) as [Record<string, unknown>];
    await withDeadline('its end', once(stream, 'close'));
    session.destroy();
    return { status: got[':status'], headers: got, body };
  }
});

async function askHttp1KeptAlive(socket: ReturnType<typeof connect>, authority: string, path: string): Promise<string> {
  socket.write(`GET http://${authority}${path} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const [chunk] = (await withDeadline('an answer', once(socket, 'data'))) as [Buffer];
  return chunk.toString('latin1');
}
