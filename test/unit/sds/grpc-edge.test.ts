// The server over a real unix socket: what it serves, what it refuses, and what a hostile or slow peer can do.
import { existsSync } from 'node:fs';
import { createConnection } from 'node:net';
import type { Socket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { maxConnections, maxStreamsPerConnection } from '../../../src/sds/sds-settings.ts';
import { adsMethod, connectFrames, framed, openFrames, perNameMethod } from '../../harness/grpc-peer.ts';
import { createSocketServers } from '../../harness/socket-server.ts';
import { encodeXdsRequest } from '../../harness/xds-messages.ts';
import { waitFor, withDeadline } from '../../support/wait-for.ts';

const { start, stopAll } = createSocketServers();

afterEach(stopAll);

describe('the server', () => {
  it.each([adsMethod, perNameMethod])('serves %s', async (method) => {
    const { connect, minter, server } = await start();
    const stream = connect().open(method);
    minter.denied.add('denied.test');
    stream.send({ subscribe: ['a.test'] });
    const first = await stream.next();
    expect(first.resources[0]).toMatchObject({ name: 'a.test', ttlSeconds: 3540 });
    stream.send({ nonce: first.nonce, subscribe: ['denied.test'] });
    expect((await stream.next()).removed).toEqual(['denied.test']);
    expect(server.status()).toEqual({ streams: 1, liveNames: 1, waiting: 0 });
    stream.cancel();
    await waitFor('the end of the stream', () => server.status().streams === 0);
    expect(server.status().liveNames).toBe(0);
  });

  const refusedMethods = [
    ['/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources', /DELTA_GRPC/],
    ['/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets', /DELTA_GRPC/],
    ['/envoy.service.cluster.v3.ClusterDiscoveryService/DeltaClusters', /./],
  ] as const;

  it.each(refusedMethods)('answers %s with UNIMPLEMENTED and a sentence', async (method, sentence) => {
    const stream = (await start()).connect().open(method);
    stream.send({ subscribe: ['a.test'] });
    expect(await stream.status).toMatchObject({ code: status.UNIMPLEMENTED, details: expect.stringMatching(sentence) });
  });

  it('answers FetchSecrets with UNIMPLEMENTED and a sentence', async () => {
    const { client } = (await start()).connect();
    const method = '/envoy.service.secret.v3.SecretDiscoveryService/FetchSecrets';
    const asIs = (bytes: Buffer) => bytes;
    const failure = new Promise((resolve) => {
      client.makeUnaryRequest(method, asIs, asIs, encodeXdsRequest({}), (error) => resolve(error));
    });
    expect(await withDeadline('an answer', failure)).toMatchObject({
      code: status.UNIMPLEMENTED,
      details: expect.stringContaining('DELTA_GRPC'),
    });
  });

  it('answers what was asked before the peer half-closed, then ends the stream', async () => {
    const { connect, minter, told } = await start();
    const stream = connect().open();
    minter.makeSlow('slow.test');
    stream.send({ subscribe: ['slow.test'] });
    stream.half();
    await waitFor('the ask', () => (minter.slow.get('slow.test')?.length ?? 0) > 0);
    minter.finish('slow.test');
    expect((await stream.next()).resources[0]?.name).toBe('slow.test');
    expect(await stream.status).toMatchObject({ code: status.OK });
    expect(told).toContain('ads peer-done');
  });
});

describe('a hostile peer', () => {
  it('that sends no message of ours hears INVALID_ARGUMENT, and others are served on', async () => {
    const { connect, told } = await start();
    const peer = connect();
    const good = peer.open();
    const bad = peer.open();
    bad.sendBytes(Buffer.from([0x12, 0xff]));
    expect(await bad.status).toMatchObject({ code: status.INVALID_ARGUMENT, details: 'not a DeltaDiscoveryRequest' });
    good.send({ subscribe: ['a.test'] });
    expect((await good.next()).resources).toHaveLength(1);
    expect(told).toContain('sds-request-malformed');
  });

  const sizes = [
    ['per-name', 256 * 1024, 'taken'],
    ['per-name', 256 * 1024 + 1, 'refused'],
    ['ads', 256 * 1024 + 1, 'taken'],
    ['ads', 16 * 1024 * 1024, 'taken'],
    ['ads', 16 * 1024 * 1024 + 1, 'refused'],
  ] as const;

  it.each(sizes)('on a stream of kind %s: a message of %d bytes is %s', async (kind, size, expected) => {
    const stream = (await start()).connect().open(kind === 'ads' ? adsMethod : perNameMethod);
    const request = encodeXdsRequest({ subscribe: ['a.test'] });
    // an unknown field, as long as it takes: tag 99, length in four bytes
    const rest = size - request.length - 6;
    const length = [0x80 | (rest & 0x7f), 0x80 | ((rest >> 7) & 0x7f), 0x80 | ((rest >> 14) & 0x7f), rest >> 21];
    stream.sendBytes(Buffer.concat([Buffer.from([0x9a, 0x06, ...length]), Buffer.alloc(rest), request]));
    if (expected === 'taken') expect((await stream.next()).resources).toHaveLength(1);
    else expect(await stream.status).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  });

  // CVE-2026-101915: the text of a handler's error reached the client
  it('learns nothing from a failure inside the server', async () => {
    const { connect, minter } = await start();
    minter.mint = () => {
      throw new Error('the key is in /etc/ca/key.pem');
    };
    const stream = connect().open();
    stream.send({ subscribe: ['a.test'] });
    expect(await stream.status).toMatchObject({ code: status.INTERNAL, details: 'the server failed' });
  });

  // Node ends a session after about 1,000 resets at once, so a connection must hold fewer streams than that
  it('may reset every stream of its connection at once, and the connection lives on', async () => {
    const { path, server, clock } = await start();
    const session = await connectFrames(path);
    expect(session.remoteSettings.maxConcurrentStreams).toBe(maxStreamsPerConnection);
    const streams = Array.from({ length: maxStreamsPerConnection }, (_, index) =>
      openFrames(session, perNameMethod, { subscribe: [`n${index}.test`] }).resume(),
    );
    const allLive = (): boolean => {
      clock.advance(1);
      return server.status().liveNames === maxStreamsPerConnection;
    };
    await waitFor('all names to live', allLive, 30_000);
    for (const stream of streams) stream.close(8);
    await waitFor('all streams to end', () => server.status().streams === 0, 30_000);
    expect(server.status().liveNames).toBe(0);
    openFrames(session, perNameMethod, { subscribe: ['again.test'] }).resume();
    await waitFor('a new name', () => {
      clock.advance(1);
      return server.status().liveNames === 1;
    });
    expect(session.closed).toBe(false);
    session.destroy();
  }, 60_000);

  it('that does not read is not answered without bound, and loses its connection after 30 s', async () => {
    const { path, server, minter, clock, told } = await start();
    const session = await connectFrames(path);
    // never read: HTTP/2 lets 64 KiB through
    openFrames(session, adsMethod, { subscribe: Array.from({ length: 20_000 }, (_, index) => `n${index}.test`) });
    await waitFor('the first mints', () => {
      clock.advance(1);
      return minter.minted.length > 0;
    });
    for (let turn = 0; turn < 1000; turn += 1) clock.advance(1);
    const mintedBlind = minter.minted.length;
    expect(mintedBlind).toBeLessThan(3000);
    clock.advance(28_000);
    expect(server.status().streams).toBe(1);
    clock.advance(2000);
    expect(server.status()).toEqual({ streams: 0, liveNames: 0, waiting: 0 });
    await waitFor('the end of the session', () => session.destroyed);
    expect(told).toContain('ads slow-reader');
    expect(minter.minted.length).toBe(mintedBlind);
  });

  it('that reads late gets all it asked', async () => {
    const { path, server, clock, minter } = await start();
    const session = await connectFrames(path);
    const stream = openFrames(session, adsMethod, {
      subscribe: Array.from({ length: 5000 }, (_, index) => `n${index}.test`),
    });
    await waitFor('the first mints', () => {
      clock.advance(1);
      return minter.minted.length > 0;
    });
    for (let turn = 0; turn < 100; turn += 1) clock.advance(1);
    expect(minter.minted.length).toBeLessThan(5000);
    // nor is it read while it does not read, but for the one message that was already awaited
    const { waiting } = server.status();
    for (const name of ['late1.test', 'late2.test']) stream.write(framed(encodeXdsRequest({ subscribe: [name] })));
    const other = openFrames(session, perNameMethod, { subscribe: ['other.test'] }).resume();
    await waitFor('the other stream', () => {
      clock.advance(1);
      return minter.minted.includes('other.test');
    });
    other.close();
    expect(server.status().waiting).toBeLessThanOrEqual(waiting + 1);
    stream.resume();
    await waitFor('all names', () => {
      clock.advance(1);
      return server.status().liveNames === 5002;
    });
    session.destroy();
  });

  it('beyond 64 connections is turned away', async () => {
    const { path, told } = await start();
    const sockets: Socket[] = [];
    for (let index = 0; index < maxConnections + 1; index += 1) {
      sockets.push(createConnection(path).on('error', () => undefined));
    }
    await waitFor('the last one to be turned away', () => told.includes('turned away'));
    expect(told.filter((line) => line === 'connected')).toHaveLength(maxConnections);
    for (const socket of sockets) socket.destroy();
    await waitFor('all to be gone', () => told.filter((line) => line === 'disconnected').length === maxConnections);
  });
});

describe('closing', () => {
  it('ends every stream with UNAVAILABLE, removes the socket, and waits for nobody longer than the grace', async () => {
    const { connect, server, path, clock, told } = await start();
    const stream = connect().open();
    stream.send({ subscribe: ['a.test'] });
    await stream.next();
    const idle = createConnection(path).on('error', () => undefined);
    await waitFor('both connections', () => told.filter((line) => line === 'connected').length === 2);
    const closed = server.close(1000);
    expect(await stream.status).toMatchObject({ code: status.UNAVAILABLE, details: 'the server stops' });
    clock.advance(1000);
    await withDeadline('the close', closed);
    expect(existsSync(path)).toBe(false);
    expect(server.status()).toEqual({ streams: 0, liveNames: 0, waiting: 0 });
    expect(clock.pendingTimers()).toBe(0);
    idle.destroy();
  });
});
