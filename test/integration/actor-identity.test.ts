// Two hundred tunnels at once of several actors to several hosts, over TLS to the proxy, half of them sharing HTTP/2
// connections: nobody gets another's rule, origin or record. LEAFGATE_TEST_IDENTITY_MS makes it go on for longer.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import type { Duplex } from 'node:stream';
import {
  connect as connectTls,
  createSecureContext,
  type ConnectionOptions,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { caPem, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { askHttp1 } from '../support/http-in-tunnel.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { startTlsOrigin, type TlsOrigin, type TlsOriginOptions } from '../support/tls-origin.ts';
import { waitFor, withDeadline } from '../support/wait-for.ts';

const tunnels = 200;
const lastsMs = Number(process.env['LEAFGATE_TEST_IDENTITY_MS'] ?? '5000');
const actors = ['ann', 'bea', 'cid', 'dan', 'eve'];
const hosts = Array.from({ length: 8 }, (_, index) => `host-${index}.actors.test`);
const uriOf = (actor: string): string => `spiffe://test/${actor}`;
const proxyCa = makeCurrentCa('proxies');
const clientCa = makeCurrentCa('clients');

describeWithTools('identity over TLS', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  const temp = createTempFolder();
  const origins: TlsOrigin[] = [];
  const sessions = new Map<string, ClientHttp2Session>();
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    const authority = createTestAuthority();
    writeFileSync(temp.file('origin-ca.pem'), authority.pem);
    for (const host of hosts) {
      const certificate = issueServerCertificate(authority, { names: [host] });
      // each visit dials anew, so that no kept connection hides a wrong target
      const answer: TlsOriginOptions['answer'] = (_, response) =>
        response.setHeader('connection', 'close').end(`origin of ${host}`);
      origins.push(await startTlsOrigin({ certificate, answer }));
    }
    mkdirSync(temp.file('proxy'));
    const serving = issueCredential(proxyCa, { dnsNames: ['proxy.test'], purposes: ['server'] });
    writeFileSync(temp.file('proxy/tls.crt'), serving.certificatePem);
    writeFileSync(temp.file('proxy/tls.key'), serving.keyPem, { mode: 0o600 });
    writeFileSync(temp.file('clients.pem'), caPem(clientCa));
    const rules = actors.map((actor) => ({ name: `of-${actor}`, hosts, actors: [uriOf(actor)], verdict: 'intercept' }));
    writeFileSync(temp.file('policy.json'), JSON.stringify({ default: 'deny', rules }));
    gateway = await startGatewayUnderTest({
      ...{ envoy, temp },
      args: [
        ...['--proxy-cert', temp.file('proxy'), '--client-ca', temp.file('clients.pem'), '--client-rate', '100000'],
        ...['--policy', temp.file('policy.json'), '--origin-ca', temp.file('origin-ca.pem')],
        ...['--allow-destination', '127.0.0.0/8'],
        ...hosts.flatMap((host, index) => ['--resolve', `${host}:${origins[index]?.port ?? 0}:127.0.0.1`]),
      ],
    });
  });
  afterAll(async () => {
    for (const session of sessions.values()) session.destroy();
    await gateway.stop();
    await Promise.all(origins.map((origin) => origin.close()));
    temp.remove();
  });

  test('stays its own in each of 200 tunnels at once: rule, origin and record', async () => {
    const proxies = new Map(actors.map((actor) => [actor, proxyFor(actor, gateway.proxyPort)]));
    for (const [actor, proxy] of proxies) sessions.set(actor, await openHttp2(proxy));
    const context = createSecureContext({ ca: readFileSync(gateway.caFile, 'utf8') });
    const end = performance.now() + lastsMs;
    let rounds = 0;
    do {
      const round = rounds;
      const answers = await Promise.all(
        Array.from({ length: tunnels }, async (_, index) => {
          const actor = actors[index % actors.length] ?? '';
          const host = hosts[index % hosts.length] ?? '';
          const authority = `${host}:${origins[index % hosts.length]?.port ?? 0}`;
          const open =
            index % 2 === 0
              ? tunnelOverHttp2(sessions.get(actor), authority)
              : tunnelOverHttp1(proxies.get(actor), authority);
          return {
            host,
            answer: await visit(await open, { host, authority, context, path: `/visit/${round}/${index}/${actor}` }),
          };
        }),
      );
      for (const { host, answer } of answers) expect(answer).toBe(`origin of ${host}`);
      rounds += 1;
    } while (performance.now() < end);
    const seen = await waitFor(
      'a record of every visit',
      () => {
        const records = gateway.records().filter(({ path }) => path?.startsWith('/visit/'));
        return records.length >= rounds * tunnels && records;
      },
      30_000,
    );
    expect(seen).toHaveLength(rounds * tunnels);
    for (const { path, host, actor, rule, upstream, status } of seen) {
      const [, , , index = '', name = ''] = path?.split('/') ?? [];
      const at = Number(index) % hosts.length;
      expect({ host, actor, rule, upstream, status }).toEqual({
        ...{ host: hosts[at], actor: uriOf(name), rule: `of-${name}` },
        ...{ upstream: `127.0.0.1:${origins[at]?.port ?? 0}`, status: 200 },
      });
    }
  }, 180_000);
});

type Proxy = ConnectionOptions & { readonly port: number };

function proxyFor(actor: string, port: number): Proxy {
  const { certificatePem: cert, keyPem: key } = issueCredential(clientCa, {
    uris: [uriOf(actor)],
    purposes: ['client'],
  });
  return { port, host: '127.0.0.1', servername: 'proxy.test', ca: caPem(proxyCa), cert, key };
}

function openHttp2(proxy: Proxy): Promise<ClientHttp2Session> {
  const session = connectHttp2('https://proxy.test', {
    createConnection: () => connectTls({ ...proxy, ALPNProtocols: ['h2'] }),
  });
  return new Promise((resolve, reject) => {
    session.once('connect', () => resolve(session)).once('error', reject);
  });
}

async function tunnelOverHttp2(session: ClientHttp2Session | undefined, authority: string): Promise<Duplex> {
  if (session === undefined) throw new Error('no session');
  const stream = session.request({ ':method': 'CONNECT', ':authority': authority });
  const status = await new Promise((resolve, reject) => {
    stream.once('response', (headers) => resolve(headers[':status'])).once('error', reject);
  });
  if (status !== 200) throw new Error(`CONNECT ${authority}: ${String(status)}`);
  return stream;
}

async function tunnelOverHttp1(proxy: Proxy | undefined, authority: string): Promise<Duplex> {
  if (proxy === undefined) throw new Error('no proxy');
  const socket = connectTls({ ...proxy, ALPNProtocols: ['http/1.1'] });
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const answer = await new Promise<string>((resolve, reject) => {
    socket.once('data', (chunk) => resolve(String(chunk))).once('error', reject);
  });
  if (!answer.startsWith('HTTP/1.1 200 ')) throw new Error(`CONNECT ${authority}: ${answer}`);
  return socket;
}

type Visit = {
  readonly host: string;
  readonly authority: string;
  readonly context: SecureContext;
  readonly path: string;
};

async function visit(tunnel: Duplex, { host, authority, context, path }: Visit): Promise<string> {
  const tls: TLSSocket = connectTls({ socket: tunnel, servername: host, secureContext: context });
  const connected = new Promise((resolve, reject) => {
    tls.once('secureConnect', resolve).once('error', reject);
  });
  try {
    await withDeadline(`a handshake with ${host}`, connected, 30_000);
    return (await askHttp1(tls, { authority, path })).body;
  } finally {
    tls.destroy();
    tunnel.destroy();
  }
}
