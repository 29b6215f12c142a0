// The port with mutual TLS, real sockets on loopback: who is let in, who is not and why, and what becomes of open connections
// when certificates, CAs and names change under them.
import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { examineChannelMaterial, type ChannelMaterial } from '../../../src/channel/channel-material.ts';
import type { AllowedClients } from '../../../src/settings/sds-server-settings.ts';
import { TlsChannel, type TlsChannelParts } from '../../../src/channel/tls-channel.ts';
import { epoch, hours, millis, minutes, plus, systemClock } from '../../../src/clock.ts';
import { parseListenAddress } from '../../../src/settings/parse-listen.ts';
import { makeCa, makeKey, type MadeCa } from '../../support/ca-workshop.ts';
import {
  casThatFill,
  channelFilesOf,
  clientName,
  clientOf,
  openClient,
  serverName,
  tlsOptionsOf,
  type ChannelFiles,
  type ClientSide,
} from '../../support/channel-workshop.ts';
import { caPem, hoursAgo, issueCredential, makeCurrentCa } from '../../support/credential-workshop.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { waitFor, withDeadline } from '../../support/wait-for.ts';

let ca: MadeCa;
let otherCa: MadeCa;
beforeAll(() => {
  ca = makeCurrentCa('channel');
  otherCa = makeCurrentCa('other');
});

const channels: TlsChannel[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const channel of channels.splice(0)) channel.close();
});

const ended = { notBefore: hoursAgo(5), notAfter: hoursAgo(1) };
const listed: AllowedClients = { kind: 'listed', names: new Set([clientName, 'spiffe://test/envoy', 'last-resort']) };

function materialOf(files: ChannelFiles): ChannelMaterial {
  const named = (name: keyof ChannelFiles) => ({ text: Buffer.from(files[name]), source: name });
  const texts = { certificate: named('tls.crt'), key: named('tls.key'), roots: named('ca.crt') };
  return examineChannelMaterial(texts, { serverName: undefined, now: systemClock.now() });
}

type World = {
  readonly channel: TlsChannel;
  readonly port: number;
  readonly told: string[];
  readonly served: Socket[];
};

async function start(parts: Partial<TlsChannelParts> = {}): Promise<World> {
  const told: string[] = [];
  const served: Socket[] = [];
  const channel = new TlsChannel({
    material: materialOf(channelFilesOf(ca)),
    clients: listed,
    clock: systemClock,
    events: {
      admitted: ({ by, name }) => told.push(`admitted ${by} ${name}`),
      refused: ({ reason }) => told.push(reason),
      ended: ({ reason, name }) => told.push(`ended ${reason} ${name}`),
    },
    serve: (socket) => served.push(socket),
    maxConnections: 100,
    ...parts,
  });
  channels.push(channel);
  await channel.listen(parseListenAddress('127.0.0.1:0'));
  return { channel, port: channel.port, told, served };
}

function open(port: number, client: ClientSide, more: Parameters<typeof openClient>[2] = {}): TLSSocket {
  const socket = openClient(port, client, more);
  sockets.push(socket);
  return socket;
}

async function closed(socket: Socket): Promise<void> {
  if (socket.closed) return;
  await withDeadline('the close', new Promise((resolve) => socket.resume().once('close', resolve)));
}

describe('a client is let in', () => {
  test.each<[string, Parameters<typeof clientOf>[1], string]>([
    ['by a DNS name', {}, `dns ${clientName}`],
    ['by a URI', { dnsNames: [], uris: ['spiffe://test/envoy'] }, 'uri spiffe://test/envoy'],
    ['by its common name, the last resort', { dnsNames: [], commonName: 'last-resort' }, 'common-name last-resort'],
  ])('%s', async (_, request, how) => {
    const { port, told, served } = await start();
    const client = open(port, clientOf(ca, request));
    await waitFor('the socket', () => served.length === 1);
    expect(told).toEqual([`admitted ${how}`]);
    expect([client.getProtocol(), client.alpnProtocol]).toEqual(['TLSv1.3', 'h2']);
  });

  test('by any name where any client may, as long as ca.crt verifies it', async () => {
    const { port, told, served } = await start({ clients: { kind: 'any' } });
    open(port, clientOf(ca, { dnsNames: ['whoever.test'] }));
    await waitFor('the socket', () => served.length === 1);
    await closed(open(port, { ...clientOf(ca), credential: clientOf(otherCa).credential }));
    expect(told).toEqual(['admitted any whoever.test', 'wrong-ca']);
  });
});

describe('a client is not let in, and nothing is spoken with it', () => {
  test.each<[string, () => ClientSide, string, Parameters<typeof openClient>[2]?]>([
    ['without a certificate', () => ({ ...clientOf(ca), credential: undefined }), 'no-certificate'],
    ['with one of another CA', () => ({ ...clientOf(ca), credential: clientOf(otherCa).credential }), 'wrong-ca'],
    [
      'with one that it signed itself',
      () => ({ ...clientOf(ca), credential: issueCredential(undefined, { dnsNames: [clientName] }) }),
      'wrong-ca',
    ],
    ['with one that has expired', () => clientOf(ca, ended), 'expired'],
    [
      'with one that is not valid yet',
      () => clientOf(ca, { notBefore: hoursAgo(-1), notAfter: hoursAgo(-2) }),
      'not-yet-valid',
    ],
    ['with one for servers alone', () => clientOf(ca, { purposes: ['server'] }), 'not-for-clients'],
    ['with a name that is not listed', () => clientOf(ca, { dnsNames: ['other.test'] }), 'not-listed'],
    [
      'with a listed common name beside another DNS name',
      () => clientOf(ca, { dnsNames: ['other.test'], commonName: 'last-resort' }),
      'not-listed',
    ],
    ['with a NUL byte behind the listed name', () => clientOf(ca, { dnsNames: [`${clientName}\0`] }), 'not-listed'],
    [
      'with a certificate of eighty kilobytes',
      () => clientOf(ca, { dnsNames: [clientName, ...Array.from({ length: 6000 }, (_, n) => `n${n}.test`)] }),
      'unreadable',
    ],
    [
      'with thousands of other names',
      () => clientOf(ca, { dnsNames: Array.from({ length: 2000 }, (_, n) => `n${n}.test`) }),
      'not-listed',
    ],
    ['with TLS 1.2', () => clientOf(ca), 'tls-too-old', { maxVersion: 'TLSv1.2' }],
    ['with HTTP/1.1 by ALPN', () => clientOf(ca), 'not-http2', { ALPNProtocols: ['http/1.1'] }],
    ['without ALPN', () => clientOf(ca), 'not-http2', { ALPNProtocols: [] }],
  ])('%s', async (_, side, reason, more) => {
    const { port, told, served } = await start();
    await closed(open(port, side(), more));
    await waitFor('the reason', () => told.length > 0);
    expect(told).toEqual([reason]);
    expect(served).toEqual([]);
  });

  test.each([
    ['HTTP in clear', 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['HTTP/2 in clear', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['zeros', '\0'.repeat(64)],
  ])('that speaks %s', async (_, bytes) => {
    const { port, told, served } = await start();
    const socket = connectTcp(port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    socket.write(bytes);
    await closed(socket);
    await waitFor('the reason', () => told.length > 0);
    expect([told, served]).toEqual([['not-tls'], []]);
  });

  test('that comes back with a session in place of its certificate', async () => {
    const { port, told, served } = await start();
    const sessions: Buffer[] = [];
    const first = open(port, clientOf(ca)).on('session', (session: Buffer) => sessions.push(session));
    await waitFor('a session', () => sessions.length > 0);
    first.destroy();
    const [session] = sessions;
    const again = connectTls({
      ...tlsOptionsOf(port, { ...clientOf(ca), credential: undefined }),
      ...(session && { session }),
    });
    let isReused: boolean | undefined;
    sockets.push(again.on('error', () => undefined).once('secureConnect', () => (isReused = again.isSessionReused())));
    await closed(again);
    expect(isReused).toBe(false);
    expect(told.at(-1)).toBe('no-certificate');
    expect(served).toHaveLength(1);
  });
});

describe('an open connection', () => {
  async function withPeer(request?: Parameters<typeof clientOf>[1], parts?: Partial<TlsChannelParts>) {
    const world = await start(parts);
    const peer = open(world.port, clientOf(ca, request));
    await waitFor('the socket', () => world.served.length === 1);
    return { ...world, peer };
  }

  test('stays while leaf, key and CAs change around it, and new ones see the new leaf', async () => {
    const { channel, port, peer, told, served } = await withPeer();
    for (const cas of [[ca, otherCa], [otherCa, ca], [ca]]) {
      channel.useMaterial(materialOf(channelFilesOf(ca, { dnsNames: [serverName, `v${cas.length}.test`] }, cas)));
    }
    open(port, clientOf(ca));
    await waitFor('the second', () => served.length === 2);
    const shown = (sockets[1] as TLSSocket).getPeerX509Certificate()?.subjectAltName;
    expect(shown).toBe(`DNS:${serverName}, DNS:v1.test`);
    expect(peer.closed).toBe(false);
    expect(told).toEqual([`admitted dns ${clientName}`, `admitted dns ${clientName}`]);
    // a new set keeps the floor of the version
    await closed(open(port, clientOf(ca), { maxVersion: 'TLSv1.2' }));
    expect(told.at(-1)).toBe('tls-too-old');
  });

  test('ends at once when its CA is taken away', async () => {
    const { channel, port, peer, told } = await withPeer();
    channel.useMaterial(materialOf(channelFilesOf(ca, {}, [otherCa])));
    await closed(peer);
    await closed(open(port, clientOf(ca)));
    expect(told.slice(1)).toEqual([`ended wrong-ca ${clientName}`, 'wrong-ca']);
  });

  test('ends at once when its name is taken from the list, and others stay', async () => {
    const { channel, port, peer, told, served } = await withPeer();
    const other = open(port, clientOf(ca, { dnsNames: [], uris: ['spiffe://test/envoy'] }));
    await waitFor('the second', () => served.length === 2);
    channel.useClients({ kind: 'listed', names: new Set(['spiffe://test/envoy']) });
    await closed(peer);
    expect(told.at(-1)).toBe(`ended not-listed ${clientName}`);
    expect(other.closed).toBe(false);
  });

  test('ends within a minute of the end of its certificate', async () => {
    const clock = createFakeClock(Date.now());
    const { peer, told } = await withPeer({ notAfter: plus(epoch(Date.now()), hours(1)) }, { clock });
    clock.advance(minutes(59));
    expect(peer.closed).toBe(false);
    clock.advance(minutes(2));
    await closed(peer);
    expect(told.at(-1)).toBe(`ended expired ${clientName}`);
  });

  function sending(client: ClientSide, one: MadeCa, padding = ''): ClientSide {
    if (client.credential === undefined) throw new Error('no credential');
    const certificatePem = client.credential.certificatePem + padding + caPem(one);
    return { ca: caPem(ca), credential: { ...client.credential, certificatePem } };
  }

  test('ends within a minute of the end of a CA between that it needs', async () => {
    const clock = createFakeClock(Date.now());
    const [soon, later] = [hours(1), hours(2)].map((span) => ({ notAfter: plus(epoch(Date.now()), span) }));
    const between = makeCa({ issuer: ca, notBefore: hoursAgo(1), ...soon });
    const { port, told, served } = await start({ clock });
    const peer = open(port, sending(clientOf(between, later), between));
    await waitFor('the socket', () => served.length === 1);
    clock.advance(minutes(62));
    await closed(peer);
    expect(told.at(-1)).toBe(`ended expired ${clientName}`);
  });

  test.each([
    ['ends within a minute of the end of the root that verifies it', false],
    ['stays when that root ends and its renewal with the same key is there', true],
  ])('%s', async (_, isRenewed) => {
    const clock = createFakeClock(Date.now());
    const [soon, later] = [hours(1), hours(2)].map((span) => ({ notAfter: plus(epoch(Date.now()), span) }));
    const old = makeCa({ name: 'old', notBefore: hoursAgo(1), ...soon });
    const { subjectDer } = old.certificate;
    const renewed = makeCa({ key: old.key, subjectDer, notBefore: hoursAgo(1), ...later });
    const roots = isRenewed ? [old, renewed, ca] : [old, ca];
    const { port, told, served } = await start({ clock, material: materialOf(channelFilesOf(ca, {}, roots)) });
    const peer = open(port, { ...clientOf(old, later), ca: caPem(ca) });
    const other = open(port, clientOf(ca, { ...later, dnsNames: [], uris: ['spiffe://test/envoy'] }));
    await waitFor('the sockets', () => served.length === 2);
    clock.advance(minutes(59));
    expect(told.filter((one) => one.startsWith('ended'))).toEqual([]);
    clock.advance(minutes(3));
    if (!isRenewed) await closed(peer);
    expect(told.filter((one) => one.startsWith('ended'))).toEqual(isRenewed ? [] : [`ended expired ${clientName}`]);
    expect([peer.closed, other.closed]).toEqual([!isRenewed, false]);
  });

  test('is judged again by the first 16 KiB that it sent after its own, and comes again where that is not enough', async () => {
    const between = makeCa({ issuer: ca, notBefore: hoursAgo(1) });
    const names = Array.from({ length: 1800 }, (_, index) => `n${index}.test`);
    const { certificatePem } = issueCredential(otherCa, { dnsNames: names });
    const client = clientOf(between);
    const { channel, port, told, served } = await start();
    const modest = open(port, sending(client, between));
    await waitFor('the first', () => served.length === 1);
    const padded = open(port, sending(client, between, certificatePem));
    await waitFor('the second', () => served.length === 2);
    channel.useMaterial(materialOf(channelFilesOf(ca, {}, [ca, otherCa])));
    await closed(padded);
    expect(told.slice(2)).toEqual([`ended wrong-ca ${clientName}`]);
    expect(modest.closed).toBe(false);
  });

  test('stays when a certificate ends that it sent and that nobody needs, as one of a CA of before', async () => {
    const clock = createFakeClock(Date.now());
    const { subjectDer } = ca.certificate;
    const cross = makeCa({ subjectDer, publicKey: createPublicKey(ca.key), issuer: otherCa, ...ended });
    const { port, told, served } = await start({ clock });
    const peer = open(port, sending(clientOf(ca), cross));
    await waitFor('the socket', () => served.length === 1);
    clock.advance(minutes(2));
    expect(told).toEqual([`admitted dns ${clientName}`]);
    expect(peer.closed).toBe(false);
  });

  test('a handshake that began with CAs of before is judged by those of now', async () => {
    const { channel, port, told, served } = await start();
    const raw = connectTcp(port, '127.0.0.1');
    sockets.push(raw);
    await once(raw, 'connect');
    // the server has taken it with the first CAs by the time that another one has gone through a whole handshake
    open(port, clientOf(ca));
    await waitFor('the other', () => served.length === 1);
    channel.useMaterial(materialOf(channelFilesOf(ca, {}, [otherCa])));
    const late = connectTls({ ...tlsOptionsOf(port, clientOf(ca)), socket: raw });
    await closed(late.on('error', () => undefined));
    await waitFor('the reason', () => told.includes('wrong-ca'));
    expect(served).toHaveLength(1);
  });
});

describe('limits', () => {
  test('a client that is slow in its handshake is closed when its time is over, also where it sends a byte now and then', async () => {
    const { port, told } = await start({ handshakeMs: millis(100) });
    const [silent, dripping] = [0, 1].map(() => connectTcp(port, '127.0.0.1').on('error', () => undefined));
    if (silent === undefined || dripping === undefined) throw new Error('no socket');
    sockets.push(silent, dripping);
    dripping.write(Buffer.from('1603010200', 'hex'));
    const drip = setInterval(() => dripping.write('1'), 10);
    await Promise.all([closed(silent), closed(dripping)]);
    clearInterval(drip);
    expect(told).toEqual(['handshake-timeout', 'handshake-timeout']);
  });

  test('a name that is turned away is escaped before it is told', async () => {
    const details: string[] = [];
    const events = { admitted: () => undefined, ended: () => undefined };
    const told = { ...events, refused: ({ detail }: { readonly detail: string }) => details.push(detail) };
    const world = await start({ clients: { kind: 'any' }, events: told });
    const { port } = world;
    const client = clientOf(ca, { dnsNames: ['a\nlevel=error forged'] });
    await openMany(world, client, 64);
    await closed(open(port, client));
    expect(details).toEqual(['a\\u000alevel=error forged']);
  });

  test('a handshake holds the names of as many CAs as are taken', async () => {
    const cas = casThatFill(61_440);
    const { port, told, served } = await start({ material: materialOf(channelFilesOf(ca, {}, cas)) });
    open(port, { ...clientOf(cas.at(-1) ?? ca), ca: caPem(ca) });
    await waitFor('the socket', () => served.length === 1);
    expect(told).toEqual([`admitted dns ${clientName}`]);
  });

  test('a close ends handshakes, and leaves open connections to whoever speaks on them', async () => {
    const { channel, port, served } = await start();
    const slow = connectTcp(port, '127.0.0.1').on('error', () => undefined);
    sockets.push(slow);
    await once(slow, 'connect');
    // it was accepted by the time that this one is served
    const peer = open(port, clientOf(ca));
    await waitFor('the socket', () => served.length === 1);
    channel.close();
    await closed(slow);
    expect(peer.closed).toBe(false);
  });

  test('who leaves during the handshake is told apart from who fails', async () => {
    const { port, told } = await start();
    const socket = connectTcp(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
    await waitFor('the reason', () => told.length > 0);
    expect(told).toEqual(['left']);
  });

  async function openSlow(port: number, count: number): Promise<readonly Socket[]> {
    const slow = Array.from({ length: count }, () => connectTcp(port, '127.0.0.1').on('error', () => undefined));
    sockets.push(...slow);
    await Promise.all(slow.map((socket) => once(socket, 'connect')));
    return slow;
  }

  test('10 of one address may be in a handshake, the next is closed unread, and all may come when those are gone', async () => {
    const { port, told, served } = await start();
    const slow = await openSlow(port, 10);
    const turnedAway = connectTcp(port, '127.0.0.1').on('error', () => undefined);
    await closed(turnedAway);
    expect(told).toEqual(['too-many-handshakes']);
    for (const socket of slow) socket.destroy();
    await waitFor('their ends', () => told.filter((reason) => reason === 'left').length === 10);
    open(port, clientOf(ca));
    await waitFor('the socket', () => served.length === 1);
  });

  test('what a peer says before it knows that it is refused costs its address nothing, nor does a root that it sends', async () => {
    const { port, told, served } = await start();
    const { credential } = clientOf(ca, { dnsNames: ['other.test'] });
    if (credential === undefined) throw new Error('no credential');
    const certificatePem = credential.certificatePem + caPem(ca);
    for (let count = 1; count <= 20; count += 1) {
      const eager = open(port, { ca: caPem(ca), credential: { ...credential, certificatePem } });
      // as Envoy does, whose first request has 60 KiB
      eager.once('secureConnect', () => eager.write(Buffer.alloc(60 * 1024)));
      await closed(eager);
      await waitFor('the reason', () => told.length === count);
    }
    open(port, clientOf(ca));
    await waitFor('the socket', () => served.length === 1);
    expect(new Set(told.slice(0, 20))).toEqual(new Set(['not-listed']));
  });

  test('a chain of a hundred certificates costs its address so much that those who wait from there are not waited for', async () => {
    const { port, told, served } = await start();
    const slow = await openSlow(port, 4);
    const key = makeKey();
    const chain = [makeCa({ key, notBefore: hoursAgo(1) })];
    for (let count = 0; count < 100; count += 1) chain.unshift(makeCa({ key, issuer: chain[0] ?? ca }));
    const { certificatePem, keyPem } = issueCredential(chain[0], { dnsNames: [clientName] });
    const credential = { keyPem, certificatePem: certificatePem + chain.map(caPem).join('') };
    await closed(open(port, { ca: caPem(ca), credential }));
    await Promise.all(slow.map(closed));
    expect(told).toEqual(['wrong-ca', ...slow.map(() => 'too-many-handshakes')]);
    await closed(open(port, clientOf(ca)));
    expect(told.at(-1)).toBe('too-many-handshakes');
    const elsewhere = connectTcp({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    sockets.push(elsewhere);
    open(port, clientOf(ca), { socket: elsewhere });
    await waitFor('the socket', () => served.length === 1);
  });

  async function openMany({ port, served }: World, client: ClientSide, count: number): Promise<void> {
    const before = served.length;
    for (let opened = 1; opened <= count; opened += 1) {
      open(port, client);
      await waitFor('the socket', () => served.length === before + opened);
    }
  }

  test('one name may hold more than 64 connections while as many are left for others, who get 64 whatever it holds', async () => {
    const world = await start({ maxConnections: 140 });
    await openMany(world, clientOf(ca), 70);
    await closed(open(world.port, clientOf(ca)));
    expect(world.told.at(-1)).toBe('too-many-connections');
    const other = clientOf(ca, { dnsNames: [], uris: ['spiffe://test/envoy'] });
    await openMany(world, other, 64);
    await closed(open(world.port, other));
    expect(world.told.at(-1)).toBe('too-many-connections');
  });

  test('one name may hold 64 connections, and another name is not held up by them', async () => {
    const world = await start();
    const { port, told, served } = world;
    const client = clientOf(ca);
    await openMany(world, client, 64);
    await closed(open(port, client));
    expect(told.at(-1)).toBe('too-many-connections');
    open(port, clientOf(ca, { dnsNames: [], uris: ['spiffe://test/envoy'] }));
    await waitFor('the other', () => served.length === 65);
    served[0]?.destroy();
    await waitFor('a place', async () => {
      open(port, client);
      await waitFor('an answer', () => told.length > 66);
      return served.length >= 66;
    });
  });
});
