// What a peer may do below gRPC, with HTTP/2 and with its socket: its connection ends or goes on, and others do not notice.
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { maxHeaderBytes, maxHeaderPairs } from '../../../src/sds/sds-settings.ts';
import { adsMethod, connectFrames, framed, openFrames, perNameMethod } from '../../harness/grpc-peer.ts';
import {
  callHeaders,
  connectRaw,
  frame,
  frameFlag,
  frameType,
  greetRaw,
  headerBlock,
} from '../../harness/raw-frames.ts';
import type { RawPeer } from '../../harness/raw-frames.ts';
import { createSocketServers } from '../../harness/socket-server.ts';
import type { SocketServer } from '../../harness/socket-server.ts';
import { encodeXdsRequest } from '../../harness/xds-messages.ts';
import { waitFor, withDeadline } from '../../support/wait-for.ts';

const { start, stopAll } = createSocketServers();

afterEach(stopAll);

async function expectOthersServed({ connect }: SocketServer): Promise<void> {
  const stream = connect().open();
  stream.send({ subscribe: ['good.test'] });
  expect((await stream.next()).resources).toHaveLength(1);
}

/** a request that comes in several pieces, as of an Envoy that comes back */
async function expectManyServed({ connect, clock }: SocketServer): Promise<void> {
  const stream = connect().open();
  stream.send({ subscribe: Array.from({ length: 3000 }, (_, index) => `name-${index}.that.comes.back.test`) });
  let isAnswered = false;
  void stream.next().then(() => (isAnswered = true));
  // the server's turns are on its clock
  await waitFor('an answer', () => {
    clock.advance(1);
    return isAnswered;
  });
}

/** the status of a response: trailers, or headers that are all of it */
async function statusOf(stream: ClientHttp2Stream): Promise<IncomingHttpHeaders> {
  const ended = new Promise<IncomingHttpHeaders>((resolve) => {
    stream.on('response', (headers) => {
      if (headers['grpc-status'] !== undefined) resolve(headers);
    });
    stream.on('trailers', resolve);
  });
  stream.resume();
  return withDeadline('a status', ended);
}

async function openCall(
  session: ClientHttp2Session,
  bytes: Buffer,
  more: { readonly [header: string]: string } = {},
): Promise<ClientHttp2Stream> {
  const headers = {
    ':method': 'POST',
    ':path': adsMethod,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...more,
  };
  const stream = session.request(headers);
  stream.on('error', () => undefined);
  await new Promise<void>((resolve) => void stream.write(bytes, () => resolve()));
  return stream;
}

const askFor = (name: string): Buffer => framed(encodeXdsRequest({ subscribe: [name] }));

describe('a peer that sends a message', () => {
  it('a byte at a time is answered', async () => {
    const { path, server } = await start();
    const session = await connectFrames(path);
    const stream = await openCall(session, Buffer.alloc(0));
    stream.resume();
    for (const byte of askFor('slow.test')) {
      await new Promise<void>((resolve) => void stream.write(Buffer.from([byte]), () => resolve()));
    }
    await waitFor('the name to live', () => server.status().liveNames === 1);
    session.destroy();
  });

  const bad = [
    ['compressed', Buffer.from([1, 0, 0, 0, 0]), status.UNIMPLEMENTED],
    ['with flags that do not exist', Buffer.from([7, 0, 0, 0, 0]), status.INVALID_ARGUMENT],
    ['of four gigabytes', Buffer.from([0, 255, 255, 255, 255]), status.RESOURCE_EXHAUSTED],
  ] as const;

  it.each(bad)('%s hears a status', async (_, bytes, code) => {
    const { path, told } = await start();
    const session = await connectFrames(path);
    const found = await statusOf(await openCall(session, bytes));
    expect(found['grpc-status']).toBe(String(code));
    expect(told.some((line) => line.startsWith('sds-request-'))).toBe(true);
    session.destroy();
  });

  it('that is cut off by its end of stream hears INVALID_ARGUMENT', async () => {
    const { path, told } = await start();
    const session = await connectFrames(path);
    const stream = await openCall(session, askFor('a.test').subarray(0, 9));
    stream.end();
    expect((await statusOf(stream))['grpc-status']).toBe(String(status.INVALID_ARGUMENT));
    expect(told).toContain('ads malformed');
    session.destroy();
  });

  it('that is not whole, on many streams, is bounded together', async () => {
    const { path, server, told } = await start({ maxAdsMessageBytes: 256 * 1024 });
    const session = await connectFrames(path);
    const half = Buffer.concat([Buffer.from([0, 0, 3, 0, 0]), Buffer.alloc(150 * 1024)]);
    await Promise.all(Array.from({ length: 5 }, () => openCall(session, half)));
    await waitFor('one to be refused', () => told.includes('ads too-large'));
    expect(server.status().streams).toBeGreaterThan(0);
    session.destroy();
    await waitFor('all to be gone', () => server.status().streams === 0);
  });

  it('that is not whole, on many connections, is bounded together, and others are served', async () => {
    const served = await start({ maxAdsMessageBytes: 1024 * 1024 });
    // large ones first, then what still fits beside them
    const sizes = [900, 400, 150, 60].flatMap((kib) => Array.from({ length: 15 }, () => kib * 1024));
    const halfOf = (size: number): Buffer => Buffer.concat([Buffer.from([0, 0, 15, 0, 0]), Buffer.alloc(size)]);
    const sessions: ClientHttp2Session[] = [];
    for (const size of sizes) {
      const session = await connectFrames(served.path);
      sessions.push(session);
      await openCall(session, halfOf(size));
    }
    await waitFor('some to be refused', () => served.told.includes('ads too-large'));
    await expectOthersServed(served);
    await expectManyServed(served);
    for (const session of sessions) session.destroy();
    await waitFor('their end', () => served.told.filter((word) => word === 'disconnected').length === 60);
    const session = await connectFrames(served.path);
    await openCall(session, halfOf(900 * 1024));
    await waitFor('room for one more', () => served.server.status().streams === 3);
    session.destroy();
  });

  it('that is not whole after half a minute is given up, however many bytes come meanwhile', async () => {
    const { path, clock, server, told } = await start();
    const session = await connectFrames(path);
    const stream = await openCall(session, askFor('a.test').subarray(0, 9));
    const ended = statusOf(stream);
    await waitFor('the stream', () => server.status().streams === 1);
    clock.advance(29_999);
    await new Promise<void>((resolve) => void stream.write(askFor('a.test').subarray(9, 10), () => resolve()));
    await new Promise<void>((resolve) => session.ping(() => resolve()));
    expect(server.status().streams).toBe(1);
    clock.advance(1);
    expect((await ended)['grpc-status']).toBe(String(status.INVALID_ARGUMENT));
    expect(told).toContain('ads malformed');
    session.destroy();
  });

  it('that was whole in time may stay as long as it likes', async () => {
    const { path, clock, server } = await start();
    const session = await connectFrames(path);
    const stream = await openCall(session, askFor('a.test').subarray(0, 9));
    stream.resume();
    clock.advance(29_000);
    stream.write(askFor('a.test').subarray(9));
    await waitFor('the name to live', () => server.status().liveNames === 1);
    clock.advance(2_000);
    expect(server.status().streams).toBe(1);
    session.destroy();
  });
});

describe('a call', () => {
  it('ends with DEADLINE_EXCEEDED when its own deadline has passed', async () => {
    const { path, clock, server } = await start();
    const session = await connectFrames(path);
    const stream = await openCall(session, askFor('a.test'), { 'grpc-timeout': '5S' });
    const ended = statusOf(stream);
    await waitFor('the name to live', () => server.status().liveNames === 1);
    clock.advance(4999);
    expect(server.status().streams).toBe(1);
    clock.advance(1);
    expect((await ended)['grpc-status']).toBe(String(status.DEADLINE_EXCEEDED));
    session.destroy();
  });

  it('that has ended and whose answers nobody reads costs its peer the connection within a minute', async () => {
    const { path, clock, server, minter } = await start();
    const session = await connectFrames(path);
    const names = Array.from({ length: 10_000 }, (_, index) => `n${index}.test`);
    await openCall(session, framed(encodeXdsRequest({ subscribe: names })), { 'grpc-timeout': '5S' });
    // in turns, until nothing more is made for it
    let mintedBefore = -1;
    await waitFor('the stream to stand still', () => {
      const { length } = minter.minted;
      if (length > 0 && length === mintedBefore) return true;
      mintedBefore = length;
      for (let turn = 0; turn < 20; turn += 1) clock.advance(1);
      return false;
    });
    clock.advance(5000);
    expect(server.status().streams).toBe(0);
    expect(session.destroyed).toBe(false);
    // pings are answered, so that it is not the keepalive which ends it
    for (let step = 1; step <= 12; step += 1) {
      clock.advance(5000);
      if (!session.destroyed) openFrames(session, perNameMethod, { subscribe: [`s${step}.test`] }).resume();
      await waitFor('a sign of life or the end', () => session.destroyed || server.status().liveNames === step);
    }
    await waitFor('the end of the session', () => session.destroyed);
  });

  it.each([0, 2, 8])('that the peer resets with code %d is forgotten', async (code) => {
    const { path, server } = await start();
    const session = await connectFrames(path);
    const stream = openFrames(session, perNameMethod, { subscribe: ['a.test'] }).resume();
    await waitFor('the name to live', () => server.status().liveNames === 1);
    stream.close(code);
    await waitFor('the stream to be gone', () => server.status().streams === 0);
    expect(server.status().liveNames).toBe(0);
    session.destroy();
  });

  it('is a POST of gRPC, or is turned away by HTTP', async () => {
    const { path } = await start();
    const session = await connectFrames(path);
    const answers = [
      [{ ':path': adsMethod }, 405],
      [{ ':method': 'POST', ':path': adsMethod, 'content-type': 'text/plain' }, 415],
    ] as const;
    for (const [headers, expected] of answers) {
      const stream = session.request(headers);
      const answered = new Promise<IncomingHttpHeaders>((resolve) => stream.once('response', resolve));
      expect((await withDeadline('an answer', answered))[':status']).toBe(expected);
      stream.close();
    }
    session.destroy();
  });
});

describe('a connection', () => {
  it('on which nobody speaks HTTP/2 is cut after 40 s', async () => {
    const { path, clock, told } = await start();
    const peer = await connectRaw(path);
    await waitFor('the connection', () => told.includes('connected'));
    clock.advance(39_999);
    expect(told).not.toContain('disconnected');
    clock.advance(1);
    await peer.closed();
    await waitFor('the end to be told', () => told.includes('disconnected'));
    expect(clock.pendingTimers()).toBe(1);
  });

  it('whose peer answers pings lives on', async () => {
    const { path, clock, server } = await start();
    const session = await connectFrames(path);
    for (let round = 1; round <= 3; round += 1) {
      const pinged = new Promise((resolve) => session.once('ping', resolve));
      clock.advance(round === 1 ? 30_000 : 20_000);
      await withDeadline('a ping', pinged);
      // what comes behind its answer was read behind it
      openFrames(session, perNameMethod, { subscribe: [`n${round}.test`] }).resume();
      await waitFor('the name to live', () => server.status().liveNames === round);
      clock.advance(10_000);
    }
    expect(session.closed).toBe(false);
    expect(server.status().liveNames).toBe(3);
    session.destroy();
  });

  it('that is not HTTP/2 ends, and others are served', async () => {
    const world = await start();
    const peer = await connectRaw(world.path);
    peer.write(Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'));
    await peer.closed();
    await expectOthersServed(world);
  });

  const open = (stream: number, headers: Parameters<typeof headerBlock>[0]): Buffer =>
    frame(frameType.headers, stream, headerBlock(headers), frameFlag.endHeaders);
  const extra = (count: number, length: number) =>
    Array.from({ length: count }, (_, at) => [`x-${at}`, 'x'.repeat(length)] as const);

  const floods: readonly (readonly [string, (peer: RawPeer) => void])[] = [
    [
      'of CONTINUATION frames',
      (peer) => {
        const piece = headerBlock(extra(1, 1000));
        peer.write(frame(frameType.headers, 1, headerBlock(callHeaders(adsMethod))));
        peer.write(...Array.from({ length: 2000 }, () => frame(frameType.continuation, 1, piece)));
      },
    ],
    [
      'of empty CONTINUATION frames',
      (peer) => {
        peer.write(frame(frameType.headers, 1, headerBlock(callHeaders(adsMethod))));
        peer.write(...Array.from({ length: 20_000 }, () => frame(frameType.continuation, 1)));
      },
    ],
    [
      'of streams that are opened and reset',
      (peer) => {
        const block = callHeaders(perNameMethod);
        const cancel = Buffer.from([0, 0, 0, 8]);
        for (let id = 1; id < 10_000; id += 2) peer.write(open(id, block), frame(frameType.resetStream, id, cancel));
      },
    ],
    [
      'of frames on streams that were never opened',
      (peer) => peer.write(...Array.from({ length: 5000 }, () => frame(frameType.data, 9, Buffer.alloc(1)))),
    ],
    [
      'with a header block that is no HPACK',
      (peer) => peer.write(frame(frameType.headers, 1, Buffer.alloc(50, 0xff), 4)),
    ],
    [
      'with a window beyond 2^31',
      (peer) => peer.write(frame(frameType.windowUpdate, 0, Buffer.from([127, 255, 255, 255]))),
    ],
    ['with a frame beyond 16 KiB', (peer) => peer.write(frame(frameType.data, 1, Buffer.alloc(20_000)))],
  ];

  it.each(floods)('%s ends, and others are served', async (_, flood) => {
    const world = await start();
    const peer = await greetRaw(world.path);
    flood(peer);
    await peer.closed();
    await waitFor('the end to be told', () => world.told.includes('disconnected'));
    await expectOthersServed(world);
    expect(world.server.status().streams).toBe(1);
  });

  const floodsBorne: readonly (readonly [string, (peer: RawPeer) => void])[] = [
    ['pings', (peer) => peer.write(...Array.from({ length: 500 }, () => frame(frameType.ping, 0, Buffer.alloc(8))))],
    ['settings', (peer) => peer.write(...Array.from({ length: 500 }, () => frame(frameType.settings, 0)))],
    [
      'a request without a path',
      (peer) =>
        peer.write(
          open(
            1,
            callHeaders(adsMethod).filter(([name]) => name !== ':path'),
          ),
        ),
    ],
    ['a request with a header twice', (peer) => peer.write(open(1, [...callHeaders(adsMethod), [':path', '/b']]))],
    [
      `${maxHeaderPairs + 1} headers`,
      (peer) => peer.write(open(1, [...callHeaders(adsMethod), ...extra(maxHeaderPairs, 1)])),
    ],
    [
      `more than ${maxHeaderBytes} bytes of headers`,
      (peer) => {
        peer.write(frame(frameType.headers, 1, headerBlock(callHeaders(adsMethod))));
        peer.write(frame(frameType.continuation, 1, headerBlock(extra(1, 15_000))));
        peer.write(frame(frameType.continuation, 1, headerBlock(extra(1, 1500)), frameFlag.endHeaders));
      },
    ],
  ];

  it.each(floodsBorne)('that sends %s holds nothing, and goes on or ends; others are served', async (_, send) => {
    const world = await start();
    const peer = await greetRaw(world.path);
    send(peer);
    await expectOthersServed(world);
    expect(world.server.status().streams).toBe(1);
    peer.write(open(101, callHeaders(adsMethod)), frame(frameType.data, 101, askFor('again.test')));
    await waitFor(
      'an answer or the end',
      () => peer.socket.destroyed || peer.frames.some(({ type, stream }) => type === frameType.data && stream === 101),
    );
    peer.socket.destroy();
  });
});
