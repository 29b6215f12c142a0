// A small DER writer for what differs from leaf to leaf. It fills one buffer from the end to the start, so that every
// length is known when its header is written and nothing is measured twice. It must not know what a certificate is.
import type { Der } from './certificate-types.ts';

export class DerWriter {
  readonly #buffer: Buffer;
  #start: number;

  /** `capacity`: an upper bound of all that will be written, in bytes */
  constructor(capacity: number) {
    this.#buffer = Buffer.allocUnsafe(capacity);
    this.#start = capacity;
  }

  /** bytes written so far; hand it to `header` as the mark of where a value ends */
  get written(): number {
    return this.#buffer.length - this.#start;
  }

  /** puts `bytes` before what is there */
  prepend(bytes: Uint8Array): void {
    this.#start -= this.#claim(bytes.length);
    this.#buffer.set(bytes, this.#start);
  }

  /** puts ASCII text before what is there */
  prependAscii(text: string): void {
    this.#start -= this.#claim(text.length);
    this.#buffer.write(text, this.#start, 'latin1');
  }

  /** closes a value: everything written since `mark` becomes its content */
  header(tag: number, mark = 0): void {
    const length = this.written - mark;
    if (length < 0x80) {
      this.#octet(length);
    } else {
      let octets = 0;
      for (let rest = length; rest > 0; rest >>>= 8, octets += 1) this.#octet(rest & 0xff);
      this.#octet(0x80 | octets);
    }
    this.#octet(tag);
  }

  /** what was written, as the one value it is */
  finish(): Der {
    return this.#buffer.subarray(this.#start) as Uint8Array as Der;
  }

  #octet(octet: number): void {
    this.#start -= this.#claim(1);
    this.#buffer[this.#start] = octet;
  }

  #claim(length: number): number {
    if (length > this.#start) throw new Error('the DER writer was given too small a capacity');
    return length;
  }
}

/** one value with `parts` as its content, for what is written once */
export function derValue(tag: number, ...parts: readonly Uint8Array[]): Der {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const writer = new DerWriter(length + 6);
  for (const part of parts.toReversed()) writer.prepend(part);
  writer.header(tag);
  return writer.finish();
}
