// Reads the Protocol Buffers wire format from bytes that a peer sent: every length is checked against what is there,
// nothing is copied before it is asked for, and what is wrong throws `sds-request-malformed`. Must not know messages.
import { sdsErrors } from './sds-errors.ts';

/** Wire types (Protocol Buffers encoding guide); groups (3, 4) are refused: proto3 has none. */
const wireType = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** a varint has at most ten bytes */
const maxVarintBytes = 10;

export class WireReader {
  /** field number of the last tag */
  field = 0;
  /** wire type of the last tag */
  type = 0;
  /** bounds of the last length-delimited value */
  start = 0;
  end = 0;
  readonly #bytes: Buffer;
  readonly #limit: number;
  #at: number;

  constructor(bytes: Buffer, from = 0, to = bytes.length) {
    this.#bytes = bytes;
    this.#at = from;
    this.#limit = to;
  }

  /** Moves to the next field; false at the end. */
  next(): boolean {
    if (this.#at >= this.#limit) return false;
    const tag = this.varint();
    this.field = Math.floor(tag / 8);
    this.type = tag % 8;
    if (this.field === 0 || this.field > 0x1fffffff) throw malformed('field number');
    if (this.type === wireType.bytes) this.#delimit();
    return true;
  }

  /** Whether the field just read is this one, with a length-delimited value in `start` and `end`. */
  isBytes(field: number): boolean {
    return this.field === field && this.type === wireType.bytes;
  }

  /** Passes over the value of the field just read; a length-delimited one was passed by `next`. */
  skip(): void {
    switch (this.type) {
      case wireType.bytes:
        return;
      case wireType.varint:
        this.varint();
        return;
      case wireType.fixed64:
        this.#advance(8);
        return;
      case wireType.fixed32:
        this.#advance(4);
        return;
      default:
        throw malformed('wire type');
    }
  }

  /** The length-delimited value just read, one char a byte. */
  latin1(): string {
    return this.#bytes.toString('latin1', this.start, this.end);
  }

  /** The first `maxBytes` of the length-delimited value just read, as UTF-8 text. */
  utf8(maxBytes: number): string {
    return this.#bytes.toString('utf8', this.start, Math.min(this.end, this.start + maxBytes));
  }

  /** A reader of the message inside the length-delimited value just read. */
  inner(): WireReader {
    return new WireReader(this.#bytes, this.start, this.end);
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < maxVarintBytes; count += 1) {
      const byte = this.#at < this.#limit ? this.#bytes[this.#at] : undefined;
      if (byte === undefined) throw malformed('truncated');
      this.#at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw malformed('varint');
  }

  #delimit(): void {
    const length = this.varint();
    this.start = this.#at;
    this.#advance(length);
    this.end = this.#at;
  }

  #advance(count: number): void {
    if (count > this.#limit - this.#at) throw malformed('truncated');
    this.#at += count;
  }
}

function malformed(reason: string): Error {
  return sdsErrors.error('sds-request-malformed', { reason });
}
