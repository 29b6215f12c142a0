// Writes the Protocol Buffers wire format into one buffer of the exact size, which the caller has computed. All text
// is one char a byte: names are echoed byte for byte and everything else is ASCII. Must not know messages.

/** tag of a length-delimited field; every field number used is below 16, so the tag is one byte */
function bytesTag(field: number): number {
  return field * 8 + 2;
}

export function varintSize(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  return value < 0x10000000 ? 4 : 5;
}

/** size of a length-delimited field with `length` bytes of value */
export function fieldSize(length: number): number {
  return 1 + varintSize(length) + length;
}

export class WireWriter {
  readonly bytes: Buffer;
  #at = 0;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size);
  }

  /** Opens a length-delimited field; its `length` bytes of value are written next. */
  open(field: number, length: number): void {
    this.bytes[this.#at++] = bytesTag(field);
    this.#varint(length);
  }

  latin1(field: number, text: string): void {
    this.open(field, text.length);
    this.#at += this.bytes.write(text, this.#at, 'latin1');
  }

  raw(field: number, value: Uint8Array): void {
    this.open(field, value.length);
    this.bytes.set(value, this.#at);
    this.#at += value.length;
  }

  varint(field: number, value: number): void {
    this.bytes[this.#at++] = field * 8;
    this.#varint(value);
  }

  #varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.#at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.bytes[this.#at++] = rest;
  }
}
