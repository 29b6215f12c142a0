// HTTP/2 frames by hand (RFC 9113 section 4, HPACK literals of RFC 7541 section 6.2.2), for what no library would send.
import { createConnection } from 'node:net';
import type { Socket } from 'node:net';
import { waitFor, withDeadline } from '../support/wait-for.ts';

export const frameType = {
  data: 0,
  headers: 1,
  resetStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const frameFlag = { endStream: 1, ack: 1, endHeaders: 4 } as const;

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const frameHeadBytes = 9;

type RawFrame = {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
};

export function frame(type: number, stream: number, payload: Buffer = Buffer.alloc(0), flags = 0): Buffer {
  const head = Buffer.alloc(frameHeadBytes);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Never indexed, never compressed. */
export function headerBlock(headers: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string): Buffer => {
    if (value.length < 127) return Buffer.from([value.length, ...Buffer.from(value, 'latin1')]);
    const rest = value.length - 127;
    return Buffer.concat([
      Buffer.from([127, 0x80 | (rest & 0x7f), 0x80 | ((rest >> 7) & 0x7f), rest >> 14]),
      Buffer.from(value, 'latin1'),
    ]);
  };
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0x10]), text(name), text(value)]));
}

export function callHeaders(path: string): readonly (readonly [name: string, value: string])[] {
  return [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'localhost'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
  ];
}

export type RawPeer = {
  readonly socket: Socket;
  readonly frames: readonly RawFrame[];
  write(...parts: readonly Buffer[]): void;
  /** the first frame of the type, seen or to come */
  frame(type: number): Promise<RawFrame>;
  closed(): Promise<void>;
};

/** Connects without a word. */
export async function connectRaw(path: string): Promise<RawPeer> {
  const socket = createConnection(path);
  const frames: RawFrame[] = [];
  let unread = Buffer.alloc(0);
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('data', (chunk) => {
    unread = Buffer.concat([unread, Buffer.from(chunk)]);
    while (unread.length >= frameHeadBytes) {
      const length = unread.readUIntBE(0, 3);
      if (unread.length < frameHeadBytes + length) return;
      const payload = unread.subarray(frameHeadBytes, frameHeadBytes + length);
      frames.push({ type: unread[3] ?? 0, flags: unread[4] ?? 0, stream: unread.readUInt32BE(5), payload });
      unread = unread.subarray(frameHeadBytes + length);
    }
  });
  await withDeadline('a connection', new Promise((resolve) => socket.once('connect', resolve)));
  return {
    socket,
    frames,
    write: (...parts) => void socket.write(Buffer.concat(parts)),
    frame: (type) => waitFor(`a frame of type ${type}`, () => frames.find((one) => one.type === type)),
    closed: () => withDeadline('the end of the connection', closed),
  };
}

/** Connects and shakes hands as RFC 9113 section 3.4 asks. */
export async function greetRaw(path: string): Promise<RawPeer> {
  const peer = await connectRaw(path);
  peer.write(preface, frame(frameType.settings, 0));
  await peer.frame(frameType.settings);
  peer.write(frame(frameType.settings, 0, Buffer.alloc(0), frameFlag.ack));
  return peer;
}
