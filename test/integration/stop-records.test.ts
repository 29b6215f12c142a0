// What the records say of what a stop of the gateway cut off: nobody else is blamed for it.
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { startGatewayUnderTest } from '../support/gateway-under-test.ts';
import { startProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';
import { waitFor, withDeadline } from '../support/wait-for.ts';

describeWithTools('a stop of the gateway', ['envoy-1.40.0', 'curl'], ({ 'envoy-1.40.0': envoy, curl }) => {
  let temp: TempFolder;
  let origin: TlsOrigin;
  const plain = { server: createServer(), seen: 0 };
  const plainPort = (): number => (plain.server.address() as AddressInfo).port;
  beforeAll(async () => {
    temp = createTempFolder();
    const authority = createTestAuthority();
    writeFileSync(temp.file('origin-ca.pem'), authority.pem);
    origin = await startTlsOrigin({
      certificate: issueServerCertificate(authority, { names: ['slow.test'] }),
      answer: (request, response) => {
        // never ends
        if (request.url?.startsWith('/silent') !== true) response.writeHead(200).write('a beginning\n');
      },
    });
    // never answers
    plain.server.on('request', () => (plain.seen += 1));
    await new Promise<void>((done) => plain.server.listen(0, '127.0.0.1', done));
  });
  afterAll(async () => {
    plain.server.closeAllConnections();
    plain.server.close();
    await origin.close();
    temp.remove();
  });

  test('is what the record names for everything that it cut off, and the client for what it closed itself', async () => {
    const gateway = await startGatewayUnderTest({
      ...{ envoy, temp },
      args: [
        ...['--origin-ca', temp.file('origin-ca.pem'), '--allow-destination', '127.0.0.1/32'],
        ...['--resolve', `slow.test:${origin.port}:127.0.0.1`, '--resolve', `slow.test:${plainPort()}:127.0.0.1`],
      ],
    });
    const get = (...args: string[]) => {
      const trust = ['--cacert', gateway.caFile];
      return startProcess(curl, ['-sS', '-x', gateway.proxyUrl, ...trust, ...args], {
        env: scrubbedEnvironment(temp.path),
      });
    };
    const url = (path: string): string => `https://slow.test:${origin.port}${path}`;
    const clients = [
      get(url('/silent/h2')),
      get('--http1.1', url('/silent/h1')),
      get(url('/begun/h2')),
      get('--http1.1', url('/begun/h1')),
      get(`http://slow.test:${plainPort()}/silent/clear`),
      get('-p', `http://slow.test:${plainPort()}/silent/tunnelled`),
    ];
    const idle = await openTls(gateway.proxyPort, readFileSync(gateway.caFile));
    const gone = get(url('/gone'));
    await waitFor('every request to have reached its origin', () => origin.seen.requests === 5 && plain.seen === 2);
    gone.signal('SIGKILL');
    await gateway.recordOf('the client that left', ({ path }) => path === '/gone');
    gateway.process.signal('SIGTERM');
    await gateway.process.exited;
    await Promise.all(clients.map(({ exited }) => exited));
    idle.destroy();
    const reasons = gateway.records().map(({ path, host, reason }) => [path ?? host, reason?.code]);
    expect(reasons.sort()).toEqual([
      ['/begun/h1', 'gateway-stopped'],
      ['/begun/h2', 'gateway-stopped'],
      ['/gone', 'client-left'],
      ['/silent/clear', 'gateway-stopped'],
      ['/silent/h1', 'gateway-stopped'],
      ['/silent/h2', 'gateway-stopped'],
      ['/silent/tunnelled', 'gateway-stopped'],
      ['idle.test', 'gateway-stopped'],
    ]);
  });
});

/** a TLS connection through the gateway that brings no request */
async function openTls(proxyPort: number, ca: Buffer): Promise<TLSSocket> {
  const tunnel = connect(proxyPort, '127.0.0.1');
  tunnel.write('CONNECT idle.test:443 HTTP/1.1\r\nHost: idle.test:443\r\n\r\n');
  await withDeadline('the tunnel', new Promise((done) => tunnel.once('data', done)));
  const tls = connectTls({ socket: tunnel, servername: 'idle.test', ca });
  tls.on('error', () => undefined);
  await withDeadline('the handshake', new Promise((done) => tls.once('secureConnect', done)));
  return tls;
}
