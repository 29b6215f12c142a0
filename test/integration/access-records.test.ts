// The access record on a real Envoy: every field for every kind of connection, and what real clients leave in it that do
// not trust the gateway.
import { X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { connect as connectTcp, type AddressInfo } from 'node:net';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAccessLogLine } from '../../src/observe/access-log-line.ts';
import type { AccessRecord } from '../../src/observe/access-record.ts';
import { recordFieldTable } from '../../src/observe/record-fields.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { connectRequest, rawExchange } from '../support/raw-proxy-client.ts';
import { runCommand, type CommandResult } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { waitFor } from '../support/wait-for.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate, type TestAuthority } from '../support/test-certificates.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

const needed = ['envoy-1.40.0', 'curl', 'wget', 'python', 'fetch-peer'] as const;
const urllibCode = 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=15)';
const fetchCode = 'await fetch(process.argv[1])';
const slowMs = 150;

describeWithTools('the access record', needed, (tools) => {
  const envoy = tools['envoy-1.40.0'];
  const temp: TempFolder = createTempFolder();
  const authority: TestAuthority = createTestAuthority();
  let origin: TlsOrigin;
  let clear: Server;
  let clearPort = 0;
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    writeFileSync(temp.file('origin-ca.pem'), authority.pem);
    origin = await startTlsOrigin({
      certificate: issueServerCertificate(authority, { names: ['good.test'] }),
      // the head waits, then the body does
      answer: (_, response) => {
        setTimeout(() => {
          response.writeHead(200).write('x');
          setTimeout(() => response.end('yz'), slowMs);
        }, slowMs);
      },
    });
    clear = createServer((_, response) => response.end('clear'));
    clear.on('upgrade', (_, socket) => {
      socket.on('error', () => undefined).on('data', () => socket.end());
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    });
    await new Promise<void>((done) => clear.listen(0, '127.0.0.1', done));
    clearPort = (clear.address() as AddressInfo).port;
    gateway = await startGatewayUnderTest({
      ...{ envoy, temp },
      args: [
        ...['--origin-ca', temp.file('origin-ca.pem'), '--allow-destination', '127.0.0.1/32'],
        ...['--resolve', `good.test:${origin.port}:127.0.0.1`, '--resolve', `clear.test:${clearPort}:127.0.0.1`],
      ],
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await origin.close();
    clear.closeAllConnections();
    clear.close();
    temp.remove();
  });

  const curl = (...args: readonly string[]): Promise<CommandResult> =>
    runCommand(tools.curl, ['-sS', '-m', '15', '-x', gateway.proxyUrl, ...args], {
      env: scrubbedEnvironment(temp.path),
    });
  const trusting = (...args: readonly string[]): Promise<CommandResult> => curl('--cacert', gateway.caFile, ...args);
  const url = (path: string): string => `https://good.test:${origin.port}${path}`;
  const byPath = (path: string): Promise<AccessRecord> => gateway.recordOf(path, (record) => record.path === path);

  test('has every field of a decrypted request', async () => {
    await trusting('--http2', '-d', 'four', url('/whole?token=hunter2#part'));
    const record = await byPath('/whole');
    expect(record).toMatchObject({
      ...{ kind: 'request', host: 'good.test', port: origin.port, connect: `good.test:${origin.port}` },
      ...{ sni: 'good.test', decision: 'intercept', rule: 'default', outcome: 'ok', clientTls: 'trusts' },
      ...{ tls: 'TLSv1.3', method: 'POST', protocol: 'HTTP/2', upstreamProtocol: 'HTTP/1.1', status: 200 },
      ...{ bytesReceived: 4, bytesSent: 3, upstream: `127.0.0.1:${origin.port}`, upstreamTls: 'TLSv1.3' },
      ...{ originCertificate: 'verified' },
    });
    expect(record.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(record.client).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(Math.abs(Date.now() - Date.parse(record.time))).toBeLessThan(60_000);
    expect(record.leafSerial).toMatch(/^[0-9a-f]{2,40}$/);
    expect(record.handshakeMs).toBeGreaterThanOrEqual(0);
    expect(record.firstByteMs).toBeGreaterThanOrEqual(slowMs - 20);
    expect(record.durationMs).toBeGreaterThanOrEqual((record.firstByteMs ?? 0) + slowMs - 20);
    expect(JSON.stringify(record)).not.toMatch(/hunter2|part/);
  });

  test('knows how long the handshake took, as Envoy measured it for the whole connection', async () => {
    await trusting(url('/handshake'), url('/handshake-2'));
    const [first, second] = [await byPath('/handshake'), await byPath('/handshake-2')];
    const whole = await waitFor('the line of the connection', () => {
      const lines = readFileSync(`${gateway.state}/gateway/access.json`, 'utf8').split('\n');
      return lines
        .flatMap((line) => parseAccessLogLine(line) ?? [])
        .find(({ id, leg }) => {
          return id === first.id && leg === 'listener';
        });
    });
    expect(Math.abs((first.handshakeMs ?? NaN) - (whole.number.handshake_ms ?? NaN))).toBeLessThanOrEqual(5);
    expect(Math.abs((second.handshakeMs ?? NaN) - (first.handshakeMs ?? NaN))).toBeLessThanOrEqual(2);
  });

  test('names the leaf that the client saw, minted for the first connection and cached after it', async () => {
    const writeOut = await trusting('-o', '/dev/null', '-w', '%{certs}', url('/leaf-one'));
    await trusting('-o', '/dev/null', url('/leaf-two'));
    const pem = /-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/.exec(writeOut.stdout)?.[0] ?? '';
    const [one, two] = [await byPath('/leaf-one'), await byPath('/leaf-two')];
    expect(one.leafSerial).toBe(new X509Certificate(pem).serialNumber.toLowerCase());
    expect([two.leaf, two.leafSerial]).toEqual(['cached', one.leafSerial]);
    expect(
      gateway.records().filter(({ leafSerial, leaf }) => leafSerial === one.leafSerial && leaf === 'minted'),
    ).toHaveLength(1);
  });

  test('joins all requests of one tunnel by one id, and of two tunnels by two', async () => {
    await trusting(url('/joined-a'), url('/joined-b'));
    await trusting(url('/joined-c'));
    const [a, b, c] = [await byPath('/joined-a'), await byPath('/joined-b'), await byPath('/joined-c')];
    expect(b.id).toBe(a.id);
    expect(b.client).toBe(a.client);
    expect(c.id).not.toBe(a.id);
  });

  test('has one line for a request in clear, in absolute form and in a tunnel', async () => {
    await curl(`http://clear.test:${clearPort}/absolute?q=hunter2`);
    await curl('-p', `http://clear.test:${clearPort}/tunnelled?q=hunter2`);
    const expected = { kind: 'request', host: 'clear.test', port: clearPort, outcome: 'ok', status: 200, bytesSent: 5 };
    for (const path of ['/absolute', '/tunnelled']) {
      const record = await byPath(path);
      expect(record).toMatchObject({ ...expected, upstream: `127.0.0.1:${clearPort}` });
      expect([record.tls, record.sni, record.clientTls, record.leaf]).toEqual(Array(4).fill(undefined));
      expect(gateway.records().filter((other) => other.path === path)).toHaveLength(1);
    }
  });

  test('has one line for a WebSocket, whose end is no failure', async () => {
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    const send = `GET http://clear.test:${clearPort}/socket HTTP/1.1\r\nHost: clear.test:${clearPort}\r\n${upgrade}`;
    await rawExchange({ port: gateway.proxyPort, send, until: '101' });
    expect(await byPath('/socket')).toMatchObject({ kind: 'request', status: 101, outcome: 'ok' });
    await curl(`http://clear.test:${clearPort}/after-socket`);
    await byPath('/after-socket');
    expect(gateway.records().filter(({ path }) => path === '/socket')).toHaveLength(1);
  });

  test.each([
    ['nothing that HTTP knows', 'NONSENSE\r\n\r\n'],
    ['a CONNECT with a password', 'CONNECT bob:hunter2@good.test:443 HTTP/1.1\r\nHost: good.test\r\n\r\n'],
    ['a byte that no path has', 'GET http://clear.test/\u00ff HTTP/1.1\r\nHost: clear.test\r\n\r\n'],
  ])('has one line for a request that cannot be read: %s', async (_, send) => {
    const before = gateway.records().filter(({ status }) => status === 400).length;
    const answer = await rawExchange({ port: gateway.proxyPort, send });
    expect(answer.status).toBe(400);
    const record = await gateway.recordOf('the broken request', (candidate) => {
      return candidate.status === 400 && gateway.records().filter(({ status }) => status === 400).length > before;
    });
    expect(record).toMatchObject({ kind: 'request', outcome: 'failed', reason: { code: 'client-request' } });
    expect(record.client).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  test('never holds a password that stood in front of a host', async () => {
    const send = connectRequest(`clear.test:${clearPort}`);
    const host = `Host: bob:hunter2@clear.test:${clearPort}`;
    const then = `GET /password HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`;
    expect((await rawExchange({ port: gateway.proxyPort, send, then })).status).toBe(403);
    await rawExchange({
      port: gateway.proxyPort,
      send: `GET http://bob:hunter2@clear.test:${clearPort}/password-2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    });
    const refused = await byPath('/password');
    expect(refused).toMatchObject({ host: 'clear.test', reason: { code: 'name-mismatch' } });
    await byPath('/password-2');
    expect(gateway.process.stdout()).not.toContain('hunter2');
    expect(readFileSync(`${gateway.state}/gateway/access.json`, 'utf8')).not.toContain('hunter2');
  });

  test('cuts a path that a client made long', async () => {
    const long = 'n'.repeat(3000);
    await trusting('--path-as-is', url(`/%E2%80%AE${long}`));
    const record = await gateway.recordOf('the long path', ({ path }) => path?.startsWith('/%E2') === true);
    expect(record.path?.length).toBeLessThanOrEqual(1025);
  });

  describe('tells of a client', () => {
    const environment = (): ReturnType<typeof scrubbedEnvironment> =>
      scrubbedEnvironment(temp.path, {
        https_proxy: gateway.proxyUrl,
        HTTPS_PROXY: gateway.proxyUrl,
        NODE_USE_ENV_PROXY: '1',
      });
    const through = (path: string, args: readonly string[]): Promise<CommandResult> =>
      runCommand(path, args, { env: environment() });

    test.each([
      ['curl', tools.curl, ['-sS'], 'client-distrusts', /CURL_CA_BUNDLE/],
      ['curl with TLS 1.2', tools.curl, ['-sS', '--tls-max', '1.2'], 'client-distrusts', /CURL_CA_BUNDLE/],
      ['Python', tools.python, ['-c', urllibCode], 'client-distrusts', /SSL_CERT_FILE/],
      ['Go', tools['fetch-peer'], [], 'client-distrusts', /SSL_CERT_FILE for Go/],
      ['Node', process.execPath, ['--input-type=module', '-e', fetchCode], 'client-distrusts', /NODE_EXTRA_CA_CERTS/],
      ['wget', tools.wget, ['-q', '-t', '1', '-O', '-'], 'client-', /leafgate run/],
    ])('that does not trust the gateway what to set: %s', async (...[name, path, args, code, remedy]) => {
      const before = new Set(gateway.records().map(({ id }) => id));
      const result = await through(path, [...args, url(`/distrust/${name.replaceAll(' ', '-')}`)]);
      expect(result.status).not.toBe(0);
      const record = await gateway.recordOf(`the distrust of ${name}`, ({ id }) => !before.has(id));
      expect(record).toMatchObject({ kind: 'handshake', outcome: 'failed', sni: 'good.test', host: 'good.test' });
      expect(record.reason?.code).toMatch(new RegExp(`^${code}`));
      expect(record.reason?.remedy).toMatch(remedy);
      expect(record.clientTls).toBe(record.reason?.code === 'client-distrusts' ? 'distrusts' : 'pins');
    });

    test('that accepts one certificate only', async () => {
      const pin = ['--pinnedpubkey', 'sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='];
      expect((await trusting(...pin, url('/pinned'))).status).toBe(90);
      const record = await gateway.recordOf('the pin', ({ clientTls }) => clientTls === 'pins');
      expect(record).toMatchObject({ kind: 'handshake', tls: 'TLSv1.3', reason: { code: 'client-no-request' } });
      expect(record.reason?.remedy).toMatch(/relay/);
    });

    test('that has no TLS version in common', async () => {
      const args = ['-sS', '--tls-max', '1.1', '--tlsv1.0', '--ciphers', 'DEFAULT:@SECLEVEL=0'];
      await trusting(...args, url('/old'));
      const record = await gateway.recordOf('the old TLS', ({ clientTls }) => clientTls === 'incompatible');
      expect(record).toMatchObject({ kind: 'handshake', reason: { code: 'client-handshake' } });
      expect(record.tls).toBeUndefined();
    });

    test('that goes away before it shows a protocol', async () => {
      const socket = connectTcp(gateway.proxyPort, '127.0.0.1');
      socket.write(connectRequest('gone.test:443'));
      await new Promise((done) => socket.once('data', done));
      socket.destroy();
      const record = await gateway.recordOf('the silent client', ({ host }) => host === 'gone.test');
      expect(record).toMatchObject({ kind: 'tunnel', outcome: 'failed', reason: { code: 'client-left' } });
    });
  });

  test('has no field that docs/records.md does not explain, and always says when, who, what and how it ended', () => {
    const always = ['kind', 'time', 'id', 'client', 'host', 'decision', 'rule', 'outcome', 'durationMs'];
    for (const record of gateway.records()) {
      expect(Object.keys(record).filter((field) => !(field in recordFieldTable))).toEqual([]);
      expect(always.filter((field) => !(field in record))).toEqual([]);
      expect(record.outcome === 'ok').toBe(record.reason === undefined);
    }
  });
});
