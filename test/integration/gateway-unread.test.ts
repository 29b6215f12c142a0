// Nothing leaves unread except by rule, whatever a client sends first, how slowly and in which pieces: it is read, or
// closed with a reason in the record. Each case has a host and an origin of its own, which counts what reaches it, once
// under a rule that intercepts and once under one that relays: what is relayed shows itself in time as TLS for that name.
import { createServer, connect, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ReasonCode } from '../../src/observe/reason-table.ts';
import { noSniHost } from '../../src/settings/gateway-spec.ts';
import { clientHello, grownTo, inRecords, withGreaseEch } from '../support/client-hello.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { askHttp1 } from '../support/http-in-tunnel.ts';
import { openTlsInTunnel, openTunnel } from '../support/open-tunnel.ts';
import { connectRequest } from '../support/raw-proxy-client.ts';
import { waitFor } from '../support/wait-for.ts';
import { startWholeGateway, type WholeGateway } from '../support/whole-gateway.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';

type Piece = Buffer | string;
type Case = {
  readonly title: string;
  readonly pieces: (host: string, authority: string) => Promise<readonly Piece[]>;
  /** before the first piece, and between pieces */
  readonly waitMs?: number;
  readonly gapMs?: number;
};

const hello = (host: string): Promise<Buffer> => clientHello({ servername: host });
const oldestTls = { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
const sslv2Hello = `802e0100020015000000100100800300800700c006004002008004008000000400000a${'00'.repeat(16)}`;

/** the buffer cut before each of these bytes */
function cutAt(buffer: Buffer, ...at: readonly number[]): readonly Buffer[] {
  return [0, ...at].map((from, index) => buffer.subarray(from, at[index]));
}

/** TLS for the host's own name, in time */
const tlsInTime: readonly Case[] = [
  { title: 'in one piece', pieces: async (host) => [await hello(host)] },
  { title: 'in single bytes', pieces: async (host) => Array.from(await hello(host), (byte) => Buffer.from([byte])) },
  { title: 'in three segments with pauses', pieces: async (host) => cutAt(await hello(host), 3, 99), gapMs: 100 },
  { title: 'in records of 64 bytes', pieces: async (host) => [inRecords(await hello(host), 64)] },
  { title: 'in records of one byte', pieces: async (host) => [inRecords(await hello(host), 1)] },
  { title: 'of nearly 16 KiB', pieces: async (host) => [grownTo(await hello(host), 16_384)] },
  { title: 'with ECH', pieces: async (host) => [withGreaseEch(await hello(host))] },
];

/** what shows neither TLS nor HTTP in time */
const closed: readonly Case[] = [
  { title: 'a ClientHello after the time for one', pieces: async (host) => [await hello(host)], waitMs: 1400 },
  { title: 'a ClientHello too slow', pieces: async (host) => cutAt(await hello(host), 1, 2, 3, 4, 5, 6), gapMs: 250 },
  { title: 'half a ClientHello', pieces: async (host) => [(await hello(host)).subarray(0, 200)] },
  { title: 'a ClientHello above 16 KiB', pieces: async (host) => [grownTo(await hello(host), 20_000)] },
  { title: 'an SSLv2 hello', pieces: async () => [Buffer.from(sslv2Hello, 'hex')] },
  { title: 'a TLS alert', pieces: async () => [Buffer.from('15030300020228', 'hex')] },
  { title: 'one byte of TLS', pieces: async () => [Buffer.from([0x16])] },
  { title: 'SSH', pieces: async () => ['SSH-2.0-client\r\n'] },
  { title: 'SMTP', pieces: async () => ['EHLO client\r\n'] },
  { title: 'garbage', pieces: async () => [Buffer.from([1, 2, 3, 4, 255, 0])] },
  { title: 'nothing', pieces: async () => [] },
  { title: 'HTTP in lower case', pieces: async (host) => [`get / http/1.1\r\nhost: ${host}\r\n\r\n`] },
  { title: 'HTTP after an empty line', pieces: async (host) => [`\r\nGET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`] },
];

/** clear HTTP that no origin may see: answered by the gateway, in words */
const answered: readonly (Case & { readonly status: number; readonly reason: ReasonCode })[] = [
  { title: 'HTTP/0.9', pieces: async () => ['GET /\r\n'], status: 400, reason: 'client-request' },
  {
    title: 'HTTP/1.0 without a Host',
    pieces: async () => ['GET / HTTP/1.0\r\n\r\n'],
    status: 400,
    reason: 'client-request',
  },
  {
    title: 'a method that no standard has',
    pieces: async (_, authority) => [`BREW / HTTP/1.1\r\nHost: ${authority}\r\n\r\n`],
    ...{ status: 400, reason: 'client-request' },
  },
  {
    title: 'a CONNECT inside the CONNECT',
    pieces: async (_, authority) => [connectRequest(authority)],
    ...{ status: 404, reason: 'client-request' },
  },
  {
    title: 'an absolute URL of another host',
    pieces: async (_, authority) => [`GET http://other.test/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`],
    ...{ status: 403, reason: 'name-mismatch' },
  },
];

type Target = { readonly host: string; readonly authority: string; readonly heard: Heard };
type Heard = { connections: number; bytes: Buffer };

describeWithTools('a tunnel', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  const titles = [...tlsInTime, ...closed, ...answered].map(({ title }) => title);
  const others = ['port 443', 'tls 1.0', 'ml-kem', 'at once', 'no name', 'h2 preface'];
  const targets = new Map<string, Target>();
  const servers: Server[] = [];
  let gateway: WholeGateway;

  beforeAll(async () => {
    for (const verdict of ['read', 'pinned']) {
      for (const [index, title] of [...titles, ...others].entries()) {
        const heard: Heard = { connections: 0, bytes: Buffer.alloc(0) };
        const host = `case-${index}.${verdict}.test`;
        targets.set(`${verdict} ${title}`, { host, authority: `${host}:${await startListener(heard)}`, heard });
      }
    }
    const hosts = [...targets.values()].map(({ host }) => host);
    gateway = await startWholeGateway({
      envoy,
      names: Object.fromEntries(hosts.map((host) => [host, ['127.0.0.1']])),
      spec: { policy: policy('intercept', rule('*.pinned.test', 'relay')) },
    });
  });
  afterAll(async () => {
    await gateway.stop();
    for (const server of servers) server.close();
  });

  /** an origin that speaks first and hears everything */
  async function startListener(heard: Heard): Promise<number> {
    const server = createServer((socket) => {
      heard.connections += 1;
      socket.on('error', () => undefined).write('banner');
      socket.on('data', (chunk) => (heard.bytes = Buffer.concat([heard.bytes, chunk])));
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  function targetOf(verdict: 'read' | 'pinned', title: string): Target {
    const found = targets.get(`${verdict} ${title}`);
    if (found === undefined) throw new Error(`no target for ${title}`);
    return found;
  }

  type Talk = { readonly sent: Buffer; received(): string; isClosed(): boolean; end(): void };

  /** says the pieces in a tunnel; nobody waits for an answer */
  async function say({ host, authority }: Target, { pieces, waitMs = 0, gapMs = 0 }: Case): Promise<Talk> {
    const all = await pieces(host, authority);
    const tunnel = await openTunnel({ proxyPort: gateway.port, authority });
    let received = '';
    let isClosed = false;
    tunnel.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    tunnel.on('close', () => (isClosed = true));
    await pause(waitMs);
    for (const piece of all) {
      if (!tunnel.destroyed) tunnel.write(piece);
      if (gapMs > 0) await pause(gapMs);
    }
    const sent = Buffer.concat(all.map((piece) => Buffer.from(piece)));
    return { sent, received: () => received, isClosed: () => isClosed, end: () => tunnel.destroy() };
  }

  const handshakeRecord = '\x16\x03';

  describe.concurrent('with a ClientHello', () => {
    test.each(tlsInTime)('$title is intercepted, and its origin is not dialled for it', async (one) => {
      const target = targetOf('read', one.title);
      const talk = await say(target, one);
      await waitFor('the ServerHello', () => talk.received() !== '' || talk.isClosed());
      expect(talk.received().slice(0, 2)).toBe(handshakeRecord);
      expect(target.heard).toMatchObject({ connections: 0 });
      talk.end();
    });

    test.each(tlsInTime)('$title is relayed where a rule says so, byte for byte', async (one) => {
      const target = targetOf('pinned', one.title);
      const talk = await say(target, one);
      await waitFor('the hello at the origin', () => target.heard.bytes.length >= talk.sent.length || talk.isClosed());
      expect(target.heard.bytes.equals(talk.sent)).toBe(true);
      await waitFor('what the origin says', () => talk.received() === 'banner');
      talk.end();
      const record = await gateway.recordOf(one.title, ({ host }) => host === target.host);
      expect(record).toMatchObject({ decision: 'relay', rule: '*.pinned.test' });
    });
  });

  describe.concurrent.each(['read', 'pinned'] as const)('to a host that is %s', (verdict) => {
    test.each(closed)('with $title is closed with a reason, and its origin hears nothing', async (one) => {
      const target = targetOf(verdict, one.title);
      const talk = await say(target, one);
      await waitFor('the end', () => talk.isClosed());
      expect({ received: talk.received(), ...target.heard }).toMatchObject({ received: '', connections: 0 });
      const record = await gateway.recordOf(one.title, ({ host }) => host === target.host);
      expect(record).toMatchObject({ decision: 'deny', outcome: 'refused', reason: { code: 'opaque-closed' } });
    });

    test.each(answered)('with $title is answered by the gateway alone', async (one) => {
      const target = targetOf(verdict, one.title);
      const talk = await say(target, one);
      await waitFor('an answer', () => talk.received().includes('\r\n\r\n'));
      expect(talk.received()).toMatch(new RegExp(`^HTTP/1\\.[01] ${one.status} .*\r\nx-leafgate-error: `));
      expect(target.heard.connections).toBe(0);
      talk.end();
      const record = await gateway.recordOf(one.title, ({ connect: asked }) => asked === target.authority);
      expect(record).toMatchObject({ kind: 'request', status: one.status, reason: { code: one.reason } });
    });

    test('with clear HTTP to port 443 is read, judged and shown as such', async () => {
      const { host } = targetOf(verdict, 'port 443');
      const authority = `${host}:443`;
      const pieces = async () => [`GET /clear HTTP/1.1\r\nHost: ${authority}\r\n\r\n`];
      const talk = await say({ ...targetOf(verdict, 'port 443'), authority }, { title: 'port 443', pieces });
      // nobody listens there
      await waitFor('an answer', () => talk.received().includes('"error":"origin_failed"'));
      talk.end();
      const record = await gateway.recordOf('the request', ({ path, host: of }) => path === '/clear' && of === host);
      expect(record).toMatchObject({ kind: 'request', port: 443, method: 'GET' });
    });

    test('with the preface of HTTP/2 in clear is answered as HTTP/2, and its origin hears nothing of it', async () => {
      const target = targetOf(verdict, 'h2 preface');
      const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0';
      const talk = await say(target, { title: 'h2 preface', pieces: async () => [preface] });
      await waitFor('SETTINGS', () => talk.received().length >= 9);
      // length, type 4 (RFC 9113 6.5)
      expect(talk.received().charCodeAt(3)).toBe(4);
      expect(target.heard.connections).toBe(0);
      talk.end();
    });
  });

  describe.concurrent('with TLS', () => {
    test('1.0 is refused by an alert, and the record says why', async () => {
      const target = targetOf('read', 'tls 1.0');
      const pieces = async (host: string) => [await clientHello({ servername: host, ...oldestTls })];
      const talk = await say(target, { title: 'tls 1.0', pieces });
      await waitFor('the end', () => talk.isClosed());
      // protocol_version, RFC 8446 6.2
      expect(Buffer.from(talk.received(), 'latin1').toString('hex')).toBe('15030100020246');
      expect(target.heard.connections).toBe(0);
      const record = await gateway.recordOf('the alert', ({ host }) => host === target.host);
      expect(record).toMatchObject({ kind: 'handshake', outcome: 'failed', reason: { code: 'client-handshake' } });
    });

    test('1.0 is relayed where a rule says so', async () => {
      const target = targetOf('pinned', 'tls 1.0');
      const pieces = async (host: string) => [await clientHello({ servername: host, ...oldestTls })];
      const talk = await say(target, { title: 'tls 1.0', pieces });
      await waitFor('the hello at the origin', () => target.heard.bytes.equals(talk.sent));
      talk.end();
    });

    test('with an ML-KEM share is intercepted and verified', async () => {
      const { host, authority } = targetOf('read', 'ml-kem');
      const x25519MlKem768 = Buffer.from([0x11, 0xec]);
      expect((await hello(host)).includes(x25519MlKem768)).toBe(true);
      const tls = await openTlsInTunnel({ proxyPort: gateway.port, authority, ca: gateway.caPem });
      expect([tls.authorized, tls.getPeerCertificate().subjectaltname]).toEqual([true, `DNS:${host}`]);
      tls.destroy();
    });

    test('sent together with the CONNECT, before its answer, is intercepted as well', async () => {
      const { host, authority, heard } = targetOf('read', 'at once');
      const socket = connect(gateway.port, '127.0.0.1');
      let received = '';
      socket.on('error', () => undefined).on('data', (chunk) => (received += chunk.toString('latin1')));
      socket.write(Buffer.concat([Buffer.from(connectRequest(authority)), await hello(host)]));
      await waitFor('the ServerHello', () => received.includes(`\r\n\r\n${handshakeRecord}`));
      expect(heard.connections).toBe(0);
      socket.destroy();
    });

    test('without a server name gets a certificate that says so, and each request is refused', async () => {
      const { authority, heard } = targetOf('read', 'no name');
      const more = { rejectUnauthorized: false };
      const target = { proxyPort: gateway.port, authority, ca: gateway.caPem, serverName: '', alpn: ['http/1.1'] };
      const tls = await openTlsInTunnel({ ...target, more });
      expect(tls.getPeerCertificate().subjectaltname).toBe(`DNS:${noSniHost}`);
      const answer = await askHttp1(tls, { authority, path: '/' });
      expect([answer.status, answer.headers['x-leafgate-error']]).toEqual([403, 'name_mismatch']);
      expect(heard.connections).toBe(0);
      tls.destroy();
    });
  });
});

/** part of what a slow client does */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
