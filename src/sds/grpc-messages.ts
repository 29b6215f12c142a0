// The length-prefixed messages of gRPC out of the chunks of an HTTP/2 stream, however they are cut. What a peer declares
// costs nothing before it has sent it, and unfinished messages of a connection have a bound together. Must not know
// what a message says.
import { sdsErrors } from './sds-errors.ts';

/** one byte of flags, four of length (doc/PROTOCOL-HTTP2.md of gRPC) */
const prefixBytes = 5;

/** a tail that is kept gets at least this much room */
const leastRoom = 512;

const nothing = Buffer.alloc(0);

/** What unfinished messages of all connections may hold together, beyond a little that each connection has of its own. */
export class SharedKeptBytes {
  readonly #max: number;
  readonly #ofEach: number;
  #used = 0;

  constructor(max: number, ofEach: number) {
    this.#max = max;
    this.#ofEach = ofEach;
  }

  /** A connection that holds `before` would hold `after`: it gets no more than is then left for the others. */
  mayHold(before: number, after: number): boolean {
    const wanted = this.#beyond(after);
    const left = this.#max - this.#used + this.#beyond(before) - wanted;
    return wanted <= Math.max(0, left);
  }

  note(before: number, after: number): void {
    this.#used += this.#beyond(after) - this.#beyond(before);
  }

  #beyond(held: number): number {
    return Math.max(0, held - this.#ofEach);
  }
}

/** What unfinished messages of one connection may hold together. */
export class KeptBytes {
  readonly #max: number;
  readonly #shared: SharedKeptBytes;
  #used = 0;

  constructor(max: number, shared: SharedKeptBytes) {
    this.#max = max;
    this.#shared = shared;
  }

  /** Throws `sds-request-too-large`, or `sds-room-taken` where others hold too much. */
  take(count: number): void {
    const after = this.#used + count;
    if (after > this.#max) throw tooLarge(this.#max);
    if (!this.#shared.mayHold(this.#used, after)) throw sdsErrors.error('sds-room-taken');
    this.#shared.note(this.#used, after);
    this.#used = after;
  }

  give(count: number): void {
    this.#shared.note(this.#used, this.#used - count);
    this.#used -= count;
  }
}

export class MessageReader {
  readonly #maxBytes: number;
  readonly #kept: KeptBytes;
  /** what came last, or a buffer of our own where a message is not whole yet */
  #bytes: Buffer = nothing;
  #start = 0;
  #end = 0;
  /** size of `#bytes` while it is our own */
  #room = 0;

  /** `maxBytes`: one message, without its prefix */
  constructor(maxBytes: number, kept: KeptBytes) {
    this.#maxBytes = maxBytes;
    this.#kept = kept;
  }

  get isEmpty(): boolean {
    return this.#start === this.#end;
  }

  /** Throws what `KeptBytes` does where the connection, or all of them together, hold too much that is unfinished. */
  push(chunk: Buffer): void {
    if (this.isEmpty) {
      this.#use(chunk, chunk.length);
      return;
    }
    const length = this.#end - this.#start;
    if (this.#room < this.#end + chunk.length) this.#move(length + chunk.length);
    chunk.copy(this.#bytes, this.#end);
    this.#end += chunk.length;
  }

  /**
   * The next whole message, to be used before the next call. Throws `sds-request-too-large` as soon as its length is
   * known, `sds-request-compressed`, `sds-request-malformed`.
   */
  next(): Buffer | undefined {
    const body = this.#start + prefixBytes;
    if (body > this.#end) return undefined;
    const flags = this.#bytes[this.#start];
    if (flags === 1) throw sdsErrors.error('sds-request-compressed');
    if (flags !== 0) throw sdsErrors.error('sds-request-malformed', { reason: 'flags of a gRPC message' });
    const length = this.#bytes.readUInt32BE(this.#start + 1);
    if (length > this.#maxBytes) throw tooLarge(this.#maxBytes);
    if (body + length > this.#end) return undefined;
    const message = this.#bytes.subarray(body, body + length);
    this.#start = body + length;
    if (this.isEmpty) this.drop();
    return message;
  }

  /** Lets go of what is not read. */
  drop(): void {
    this.#use(nothing, 0);
  }

  /** Into a buffer of our own that grows by doubling: a byte a chunk must not cost a Buffer a byte. */
  #move(length: number): void {
    const room = Math.max(leastRoom, 2 * length);
    this.#kept.take(room - this.#room);
    const own = Buffer.allocUnsafeSlow(room);
    this.#bytes.copy(own, 0, this.#start, this.#end);
    this.#end -= this.#start;
    this.#start = 0;
    this.#bytes = own;
    this.#room = room;
  }

  #use(bytes: Buffer, end: number): void {
    if (this.#room > 0) this.#kept.give(this.#room);
    this.#room = 0;
    this.#bytes = bytes;
    this.#start = 0;
    this.#end = end;
  }
}

/** The message with its prefix. */
export function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(prefixBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, prefixBytes);
  return frame;
}

function tooLarge(max: number): Error {
  return sdsErrors.error('sds-request-too-large', { max, unit: 'bytes' });
}
