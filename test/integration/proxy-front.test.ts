// TLS to the proxy on the generated configuration and a real Envoy: who the client is comes from a certificate that was
// verified, or from nowhere.
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AccessLogLine } from '../../src/observe/access-log-line.ts';
import { explainProxyTls } from '../../src/observe/explain-proxy-tls.ts';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { parseCidrSetting, parseResolveOverride } from '../../src/settings/parse-targets.ts';
import {
  caPem,
  hoursAgo,
  issueCredential,
  makeCurrentCa,
  type CredentialRequest,
} from '../support/credential-workshop.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { gatewaySpec } from '../support/gateway-spec.ts';
import { startGeneratedGateway, type GeneratedGateway } from '../support/generated-gateway.ts';
import { connectRequest, plainGet, rawExchange, type RawAnswer } from '../support/raw-proxy-client.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';

const alice = 'spiffe://test/ns/a/sa/alice';
const bob = 'spiffe://test/ns/a/sa/bob';
const proxyName = 'proxy.test';

describeWithTools('TLS to the proxy', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let folder: TempFolder;
  let gateway: GeneratedGateway;
  let http: Server;
  let spec = gatewaySpec();
  let httpPort = 0;
  const clientCa = makeCurrentCa('clients');
  const strangeCa = makeCurrentCa('strangers');
  const proxyCa = makeCurrentCa('proxies');

  beforeAll(async () => {
    folder = createTempFolder();
    http = createServer((request, response) => {
      const text = `origin of ${request.headers.host ?? ''}\n`;
      response.writeHead(200, { 'content-length': Buffer.byteLength(text) }).end(text);
    });
    httpPort = await listening(http);
    const serving = issueCredential(proxyCa, { dnsNames: [proxyName], purposes: ['server'] });
    writeFileSync(folder.file('tls.crt'), serving.certificatePem);
    writeFileSync(folder.file('tls.key'), serving.keyPem, { mode: 0o600 });
    writeFileSync(folder.file('clients.pem'), caPem(clientCa));
    spec = gatewaySpec(
      {
        listen: parseListenAddress('127.0.0.1:0'),
        front: { listen: undefined, certificateDir: folder.path, clientCaFile: folder.file('clients.pem') },
        policy: policy(
          'deny',
          rule('alice.test', 'intercept', { actors: [alice] }),
          rule('bob.test', 'intercept', { actors: [bob] }),
          rule('both.test', 'intercept', { actors: [alice, bob] }),
          rule('joined.test', 'intercept', { actors: [`${alice},${bob}`] }),
          rule('any.test', 'intercept'),
          rule('dash.test', 'intercept', { actors: ['-'] }),
        ),
        resolve: ['alice', 'bob', 'both', 'joined', 'any', 'dash'].map((name) =>
          parseResolveOverride(`${name}.test:${httpPort}:127.0.0.1`),
        ),
        allowDestinations: [parseCidrSetting('127.0.0.1', '--allow-destination')],
      },
      folder.path,
    );
    gateway = await startGeneratedGateway(envoy, spec);
  });
  afterAll(async () => {
    await gateway.stop();
    http.closeAllConnections();
    http.close();
    folder.remove();
  });

  const toProxy = (credential?: { readonly certificatePem: string; readonly keyPem: string }): ConnectionOptions => ({
    ca: caPem(proxyCa),
    servername: proxyName,
    ALPNProtocols: ['http/1.1'],
    ...(credential === undefined ? {} : { cert: credential.certificatePem, key: credential.keyPem }),
  });
  const actor = (...uris: readonly string[]): ConnectionOptions => toProxy(issueCredential(clientCa, { uris }));

  /** a clear request inside a CONNECT */
  const through = (name: string, tls: ConnectionOptions | undefined, path = '/'): Promise<RawAnswer> =>
    rawExchange({
      port: gateway.port,
      ...(tls === undefined ? {} : { tls }),
      send: connectRequest(`${name}:${httpPort}`),
      then: `GET ${path} HTTP/1.1\r\nHost: ${name}:${httpPort}\r\nConnection: close\r\n\r\n`,
    });

  test.each([
    ['alice.test', 'alice', [alice], 200],
    ['alice.test', 'bob', [bob], 403],
    ['alice.test', 'nobody', [], 403],
    ['both.test', 'bob', [bob], 200],
    ['any.test', 'nobody', [], 200],
    ['dash.test', 'nobody', [], 403],
    ['alice.test', 'two people', [alice, bob], 403],
    ['joined.test', 'two people', [alice, bob], 403],
    ['joined.test', 'one with a comma in the name', [`${alice},${bob}`], 200],
  ])('to %s for %s is decided by the verified URI', async (name, _, uris, status) => {
    const tls = uris.length === 0 ? toProxy() : actor(...uris);
    expect((await through(name, tls)).status).toBe(status);
    const [uri, second] = uris;
    const path = `/${name}/${uris.length}`;
    const plain = await rawExchange({
      port: gateway.port,
      tls,
      send: `GET http://${name}:${httpPort}${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    });
    expect(plain.status).toBe(status);
    const line = await gateway.lineOf(
      'the request',
      ({ text }) => text.path === path && (text.actor ?? '') === (second === undefined ? (uri ?? '') : ''),
    );
    expect(line.leg).toBe('plain');
  });

  test('is beside clear HTTP on the same port, whose clients have no actor', async () => {
    expect((await through('any.test', undefined, '/clear')).status).toBe(200);
    expect((await through('alice.test', undefined)).status).toBe(403);
    const line = await gateway.lineOf('the clear request', ({ text }) => text.path === '/clear');
    expect(line.text.actor).toBeUndefined();
    expect((await plainGet(gateway.port, `http://any.test:${httpPort}/`)).status).toBe(200);
  });

  test.each<[string, 'strange' | 'client' | 'none', CredentialRequest, string]>([
    ['made by itself', 'none', {}, 'its CA is not in the file of --client-ca'],
    ['of another CA', 'strange', {}, 'its CA is not in the file of --client-ca'],
    ['that has expired', 'client', { notBefore: hoursAgo(3), notAfter: hoursAgo(1) }, 'it has expired'],
    ['that is not valid yet', 'client', { notBefore: hoursAgo(-1), notAfter: hoursAgo(-2) }, 'it is not valid yet'],
    ['that is for servers only', 'client', { purposes: ['server'] }, 'it is not for clients'],
  ])('refuses a certificate %s, says why, and nothing ever shows its name', async (kind, issuer, request, words) => {
    const uri = `spiffe://test/forged/${kind.replaceAll(' ', '-')}`;
    const ca = issuer === 'none' ? undefined : issuer === 'strange' ? strangeCa : clientCa;
    const forged = toProxy(issueCredential(ca, { ...request, uris: [uri] }));
    const failures = (): AccessLogLine[] =>
      gateway.lines().filter(({ leg, number }) => leg === 'front' && number.handshake_ms === undefined);
    const before = failures().length;
    expect(await through('any.test', forged)).toMatchObject({ status: 0, text: '', closed: true });
    expect((await through('any.test', toProxy(), `/after-${kind.length}`)).status).toBe(200);
    await gateway.lineOf('the next request', ({ text }) => text.path === `/after-${kind.length}`);
    const line = await waitFor('the failed handshake', () => failures().at(before));
    const { code, words: found } = explainProxyTls(line);
    expect([code, found]).toEqual(['client-certificate', expect.stringMatching(new RegExp(`: ${words}$`))]);
    expect(failures()).toHaveLength(before + 1);
    expect(readFileSync(spec.paths.accessLog, 'utf8')).not.toContain(uri);
  });

  test('speaks HTTP/2: 80 tunnels at once over two connections, each with the name of its own client', async () => {
    const sessions = await Promise.all(
      [alice, bob].map((uri) => {
        const { certificatePem: cert, keyPem: key } = issueCredential(clientCa, { uris: [uri] });
        return http2Session(gateway.port, { ca: caPem(proxyCa), servername: proxyName, cert, key });
      }),
    );
    const visits = Array.from({ length: 80 }, (_, index) => {
      const session = sessions[index % 2];
      const own = index % 2 === 0 ? 'alice' : 'bob';
      const authority = `${index % 4 < 2 ? own : 'both'}.test:${httpPort}`;
      if (session === undefined) throw new Error('no session');
      return visit(session, authority, `/h2/${own}/${index}`);
    });
    const refused = visit(sessions[0] ?? http2Closed(), `bob.test:${httpPort}`, '/h2/none');
    for (const { status, text } of await Promise.all(visits)) {
      expect([status, text]).toEqual([200, expect.stringContaining('origin of')]);
    }
    expect(await refused).toMatchObject({ status: 403, text: expect.stringContaining('blocked_by_policy') as string });
    for (const session of sessions) session.close();
    const lines = await waitFor('a line of every visit', () => {
      const found = gateway.lines().filter(({ leg, text }) => leg === 'clear' && text.path?.startsWith('/h2/'));
      return found.length === 80 ? found : undefined;
    });
    for (const { text } of lines) expect(text.path).toContain(text.actor === alice ? '/alice/' : '/bob/');
    const opened = new Map(
      gateway.lines().flatMap((line) => (line.leg === 'connect' ? [[line.id, line] as const] : [])),
    );
    for (const { id, text } of lines) expect(opened.get(id)?.text.actor).toBe(text.actor);
  });

  test('mixes up none of 120 connections at once', async () => {
    const [asAlice, asBob] = [actor(alice), actor(bob)];
    const answers = await Promise.all(
      Array.from({ length: 120 }, async (_, index) => {
        const isAlice = index % 2 === 0;
        const name = index % 3 === 0 ? 'alice.test' : 'bob.test';
        const answer = await through(name, isAlice ? asAlice : asBob, `/many/${isAlice ? 'alice' : 'bob'}`);
        return [answer.status, isAlice === (name === 'alice.test') ? 200 : 403];
      }),
    );
    for (const [status, expected] of answers) expect(status).toBe(expected);
    const lines = gateway.lines().filter(({ leg, text }) => leg === 'clear' && text.path?.startsWith('/many/'));
    for (const { text } of lines) expect(text.path).toBe(text.actor === alice ? '/many/alice' : '/many/bob');
  });
});

function http2Closed(): never {
  throw new Error('no session');
}

function http2Session(port: number, tls: ConnectionOptions): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`https://${proxyName}:${port}`, {
      createConnection: () => connectTls({ ...tls, port, host: '127.0.0.1', ALPNProtocols: ['h2'] }),
    });
    session.once('connect', () => resolve(session)).once('error', reject);
  });
}

/** a CONNECT stream with one clear request inside; a refusal's body is its text */
function visit(
  session: ClientHttp2Session,
  authority: string,
  path: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': 'CONNECT', ':authority': authority });
    let status = 0;
    let text = '';
    stream.once('response', (headers) => {
      status = Number(headers[':status']);
      if (status === 200) stream.write(`GET ${path} HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`);
    });
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (!text.includes('origin of')) return;
      resolve({ status, text });
      stream.close();
    });
    stream.once('end', () => resolve({ status, text }));
    stream.once('error', reject);
  });
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
