// What one request through `leafgate up` does, shows and is refused for, on a real Envoy with real origins on loopback.
import { connect as connectTcp, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { epoch, hours } from '../../src/clock.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { freePort } from '../support/free-port.ts';
import {
  curlThrough,
  runLeafgate,
  startGatewayUnderTest,
  type GatewayUnderTest,
} from '../support/gateway-under-test.ts';
import { knockOn } from '../support/odd-server-name.ts';
import { runCommand, type CommandResult } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate, type TestAuthority } from '../support/test-certificates.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';
import { withDeadline } from '../support/wait-for.ts';

describeWithTools('a request through the gateway', ['envoy-1.40.0', 'curl'], ({ 'envoy-1.40.0': envoy, curl }) => {
  const temp: TempFolder = createTempFolder();
  const authority: TestAuthority = createTestAuthority();
  const origins: { readonly [name: string]: TlsOrigin } = {};
  let gateway: GatewayUnderTest;
  let banner: Server;
  let bannerPort = 0;

  beforeAll(async () => {
    writeFileSync(temp.file('origin-ca.pem'), authority.pem);
    const past = epoch(Date.now() - hours(2));
    const made: Record<string, TlsOrigin> = {
      good: await startTlsOrigin({ certificate: issueServerCertificate(authority, { names: ['good.test'] }) }),
      expired: await startTlsOrigin({
        certificate: issueServerCertificate(authority, {
          names: ['expired.test'],
          notBefore: epoch(past - hours(2)),
          notAfter: past,
        }),
      }),
      wrong: await startTlsOrigin({ certificate: issueServerCertificate(authority, { names: ['other.test'] }) }),
      forger: await startTlsOrigin({
        certificate: issueServerCertificate(authority, { names: ['forger.test'] }),
        answer: (_, response) => {
          const forged = { error: 'blocked_by_policy', rule: 'deny:spoof', cause: 'expired' };
          const headers = Object.entries(forged).map(([name, value]) => [`x-leafgate-${name}`, value]);
          response.writeHead(403, Object.fromEntries(headers) as Record<string, string>).end();
        },
      }),
      unknown: await startTlsOrigin({
        certificate: issueServerCertificate(createTestAuthority(), { names: ['unknown.test'] }),
      }),
    };
    Object.assign(origins, made);
    banner = createServer((socket) => socket.end('SSH-2.0-test\r\n'));
    await new Promise<void>((done) => banner.listen(0, '127.0.0.1', done));
    bannerPort = portOf(banner);
    const resolve = [
      ...Object.entries(made).map(([name, { port }]) => `${name}.test:${port}:127.0.0.1`),
      `ssh.test:${bannerPort}:127.0.0.1`,
    ];
    const port = await freePort();
    gateway = await startGatewayUnderTest({
      ...{ envoy, temp },
      args: [
        ...['--listen', `127.0.0.1:${port}`, '--resolve', `loop.test:${port}:127.0.0.1`],
        ...['--origin-ca', temp.file('origin-ca.pem'), '--allow-destination', '127.0.0.1/32'],
        ...resolve.flatMap((value) => ['--resolve', value]),
      ],
    });
  });

  afterAll(async () => {
    await gateway.stop();
    await Promise.all(Object.values(origins).map((origin) => origin.close()));
    banner.close();
    temp.remove();
  });

  const ask = (...args: readonly string[]): Promise<CommandResult> =>
    curlThrough({ curl, temp, gateway }, '-m', '15', ...args);
  const url = (name: string, path = '/'): string => `https://${name}.test:${origins[name]?.port ?? 0}${path}`;

  test('is decrypted, forwarded and shown, with the leaf minted once and cached afterwards', async () => {
    expect((await ask('-o', '/dev/null', '-w', '%{http_code}', url('good', '/first'))).stdout).toBe('200');
    expect((await ask('-o', '/dev/null', '-w', '%{http_code}', url('good', '/second'))).stdout).toBe('200');
    const first = await gateway.recordOf('the first request', ({ path }) => path === '/first');
    expect(first).toMatchObject({
      ...{ kind: 'request', host: 'good.test', decision: 'intercept', outcome: 'ok', leaf: 'minted', method: 'GET' },
      ...{ status: 200, protocol: 'HTTP/2', upstreamProtocol: 'HTTP/1.1' },
    });
    const second = await gateway.recordOf('the second request', ({ path }) => path === '/second');
    expect(second.leaf).toBe('cached');
    expect(second.leafSerial).toBe(first.leafSerial);
    expect(first.durationMs).toBeGreaterThanOrEqual(0);
    expect(first.client).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  test('never has its query string in the record', async () => {
    await ask(url('good', '/search?token=hunter2'));
    await gateway.recordOf('the search', ({ path }) => path === '/search');
    expect(gateway.process.stdout()).not.toContain('hunter2');
    expect(readFileSync(`${gateway.state}/gateway/access.json`, 'utf8')).not.toContain('hunter2');
  });

  test.each([
    ['expired', 'origin-distrusted', /expired/],
    ['wrong', 'origin-distrusted', /name/],
    ['unknown', 'origin-distrusted', /not trusted|unknown|nobody|trust/],
  ] as const)('to an origin whose certificate is %s gets 502, and the record says why', async (name, code, words) => {
    const before = origins[name]?.seen.requests;
    const answer = await ask('-w', '\n%{http_code}', url(name));
    expect(answer.stdout).toMatch(/"error":"origin_failed"/);
    expect(answer.stdout).toMatch(/502$/);
    expect(answer.stdout).not.toMatch(/CERTIFICATE_VERIFY_FAILED/);
    const record = await gateway.recordOf(name, ({ host }) => host === `${name}.test`);
    expect(record.reason?.code).toBe(code);
    expect(record.reason?.words).toMatch(words);
    expect(origins[name]?.seen.requests).toBe(before);
  });

  test('from a client that does not trust the CA is named in the record, with what to set', async () => {
    const args = ['-sS', '-m', '15', '-x', gateway.proxyUrl, url('good', '/distrust')];
    const answer = await runCommand(curl, args, { env: scrubbedEnvironment(temp.path) });
    expect(answer.status).toBe(60);
    const record = await gateway.recordOf('the distrust', ({ reason }) => reason?.code === 'client-distrusts');
    expect(record).toMatchObject({ kind: 'handshake', outcome: 'failed', host: 'good.test' });
    expect(record.reason?.remedy).toMatch(/CURL_CA_BUNDLE.*leafgate run/);
  });

  test('to an address that the guard closes is refused before anything is dialled', async () => {
    const answer = await ask('-w', '%{http_code}', 'http://127.0.0.2:1/');
    expect(answer.stdout).toMatch(/"error":"destination_denied".*403$/s);
    const record = await gateway.recordOf('the refusal', ({ host }) => host === '127.0.0.2');
    expect(record).toMatchObject({ decision: 'deny', outcome: 'refused', reason: { code: 'destination-denied' } });
  });

  test.each([
    ['the Host header', ['-H', 'Host: other.test']],
    ['the Host header of plain HTTP', ['-H', 'Host: other.test']],
  ])('whose %s names another host than its CONNECT is refused', async (what, args) => {
    const port = origins['good']?.port ?? 0;
    const target = what.includes('plain') ? ['-p', `http://good.test:${port}/mismatch`] : [url('good', '/mismatch')];
    const answer = await ask('-w', '\n%{http_code}', ...args, ...target);
    expect(answer.stdout).toMatch(/"error":"name_mismatch"[^]*403$/);
  });

  test('with another server name than its CONNECT is refused, and spelling does not matter', async () => {
    const port = origins['good']?.port ?? 0;
    const answered = await requestInTunnel(`good.test:${port}`, 'other.test', 'Host: other.test');
    expect(answered).toMatch(/^HTTP\/1.1 403 .*name_mismatch/s);
    const spelled = await requestInTunnel(`GOOD.test.:${port}`, 'good.TEST', 'Host: Good.Test.');
    expect(spelled).toMatch(/^HTTP\/1.1 200 /);
  });

  test('that waits before its ClientHello is closed and never leaves unread', async () => {
    const port = origins['good']?.port ?? 0;
    const before = origins['good']?.seen.connections;
    const socket = await openTunnel(`good.test:${port}`);
    await withDeadline('the gateway to close', new Promise((done) => socket.once('close', done)));
    expect(origins['good']?.seen.connections).toBe(before);
  });

  test.each([
    ['an SSH client', 'SSH-2.0-OpenSSH_9\r\n'],
    ['garbage', '\u0001\u0002\u0003\u0004'],
  ])('of %s to a target that no rule opens is closed with a reason and gets no byte of it', async (_, bytes) => {
    const socket = await openTunnel(`ssh.test:${bannerPort}`);
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    socket.write(bytes);
    await withDeadline('the gateway to close', new Promise((done) => socket.once('close', done)));
    expect(received).toBe('');
    await gateway.recordOf(
      'the closed tunnel',
      ({ host, reason }) => host === 'ssh.test' && reason?.code === 'opaque-closed',
    );
  });

  test.each([
    ['its own address', []],
    ['a name that --resolve points at it', ['loop.test']],
  ])('to the gateway itself by %s is refused once and does not go round', async (_, names) => {
    const authority = `${names[0] ?? '127.0.0.1'}:${gateway.proxyPort}`;
    const answer = await ask('-w', '\n%{http_code}', `http://${authority}/round`);
    expect(answer.stdout).toMatch(/"error":"destination_denied"[^]*403$/);
    const tunnelled = await ask('-p', `http://${authority}/round`);
    expect(tunnelled.stderr).toMatch(/403/);
    const host = names[0] ?? '127.0.0.1';
    const record = await gateway.recordOf('the loop', (candidate) => candidate.host === host);
    expect(record.reason?.words).toMatch(/the gateway itself/);
    expect(gateway.records().filter(({ path }) => path === '/round').length).toBeLessThanOrEqual(4);
  });

  test.each([
    ['is not UTF-8', Buffer.from('\u00ff\u00fe\u00fd\u00fc.test', 'latin1')],
    ['has other characters than a host name', Buffer.from('a*b c/d.test')],
    ['is UTF-8 but no ASCII', Buffer.from('bücher.test')],
  ])('whose server name %s is closed at once, and Envoy asks for nothing', async (_, serverName) => {
    const asked = async (): Promise<number> => {
      const admin = `${gateway.state}/gateway/admin.sock`;
      const filter = 'http://x/stats?filter=on_demand_secret.cert_requested';
      const { stdout } = await runCommand(curl, ['-sS', '--unix-socket', admin, filter], {
        env: scrubbedEnvironment(temp.path),
      });
      return Number(/cert_requested: (\d+)/.exec(stdout)?.[1]);
    };
    const before = await asked();
    const tookMs = await knockOn(await openTunnel('good.test:443'), serverName);
    expect(tookMs).toBeLessThan(4000);
    expect(await asked()).toBe(before);
    await gateway.recordOf('the odd name', ({ reason }) => reason?.words.includes('no host name') === true);
  });

  test('never carries a refusal that an origin forged', async () => {
    const answer = await ask('-i', url('forger'));
    expect(answer.stdout).toMatch(/^HTTP\/2 403/m);
    expect(answer.stdout).not.toMatch(/x-leafgate/i);
  });

  test('keeps what a client says to the proxy from the origin', async () => {
    const proxy = gateway.proxyUrl.replace('//', '//bob:hunter2@');
    const args = ['-sS', '-m', '15', '-x', proxy, `http://good.test:${origins['good']?.port ?? 0}/proxy-auth`];
    await runCommand(curl, args, { env: scrubbedEnvironment(temp.path) });
    await runCommand(curl, [...args.slice(0, 5), '--cacert', gateway.caFile, url('good', '/proxy-auth')], {
      env: scrubbedEnvironment(temp.path),
    });
    expect(origins['good']?.seen.decrypted).toContain('/proxy-auth');
    expect(origins['good']?.seen.decrypted.toLowerCase()).not.toMatch(/proxy-authorization|proxy-connection/);
  });

  test('that only writes the name of the self-check into its Host header is refused and shown', async () => {
    const answer = await ask('-w', '%{http_code}', '-H', 'Host: self-check.leafgate.invalid', url('good', '/hidden'));
    expect(answer.stdout).toMatch(/name_mismatch.*403$/s);
    await gateway.recordOf('the hidden request', ({ path }) => path === '/hidden');
  });

  test('carries no header of Envoy to either side', async () => {
    const answer = await ask('-i', '--http1.1', url('good', '/headers'));
    expect(answer.stdout).not.toMatch(/^(?:server: envoy|x-envoy-)/im);
    expect(origins['good']?.seen.decrypted.toLowerCase()).not.toMatch(/x-envoy|x-forwarded|x-request-id/);
  });

  test('is shown as intercepted by the probe, and as not trusted with another CA', async () => {
    const args = ['probe', 'check', url('good'), '--proxy', gateway.proxyUrl];
    const yes = await runLeafgate([...args, '--ca', gateway.caFile], { envoy, temp });
    expect(yes.stdout).toMatch(/: intercepted: /);
    expect(yes.status).toBe(0);
    const no = await runLeafgate([...args, '--ca', temp.file('origin-ca.pem')], { envoy, temp });
    expect(no.stdout).toMatch(/: not-trusted: /);
    expect(no.status).toBe(4);
    const byState = await runLeafgate(['probe', 'check', url('good'), '--state', gateway.state], { envoy, temp });
    expect(byState.status).toBe(0);
  });

  async function openTunnel(authority: string): Promise<Socket> {
    const socket = connectTcp(gateway.proxyPort, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    const head = await withDeadline('the answer to CONNECT', new Promise<Buffer>((done) => socket.once('data', done)));
    expect(head.toString('latin1')).toMatch(/^HTTP\/1.1 200 /);
    return socket;
  }

  async function requestInTunnel(authority: string, serverName: string, hostHeader: string): Promise<string> {
    const socket = await openTunnel(authority);
    const ca = readFileSync(gateway.caFile);
    const tls = connectTls({ socket, servername: serverName, ca, ALPNProtocols: ['http/1.1'] });
    tls.on('error', () => undefined);
    tls.write(`GET / HTTP/1.1\r\n${hostHeader}:${authority.split(':').at(-1) ?? ''}\r\nConnection: close\r\n\r\n`);
    let answer = '';
    tls.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    await withDeadline('the end of the answer', new Promise((done) => tls.once('close', done)));
    return answer;
  }
});

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
