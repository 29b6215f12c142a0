// A strict, bounded reader of DER (X.690 section 10): definite and shortest lengths, one-octet tags, nothing left over.
// Every fault is `der-malformed`, never a RangeError. It must not know what a certificate is.
import type { Der } from './certificate-types.ts';
import { x509Errors } from './x509-errors.ts';

export const derTags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** tag octet of a context-specific value */
export function contextTag(number: number, shape: 'primitive' | 'constructed'): number {
  return (shape === 'constructed' ? 0xa0 : 0x80) | number;
}

export type DerValue = {
  readonly tag: number;
  readonly content: Uint8Array;
  /** tag, length and content */
  readonly raw: Uint8Array;
};

/** a certificate nests about 10 deep; the cap only keeps hostile input from recursing */
const maxDepth = 32;

const constructedBit = 0x20;
const multiOctetTag = 0x1f;

function malformed(reason: string): Error {
  return x509Errors.error('der-malformed', { reason });
}

/** Reads the values of one constructed content from first to last. */
export class DerReader {
  readonly #bytes: Uint8Array;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#offset === this.#bytes.length;
  }

  /** the next value, whatever its tag */
  any(): DerValue {
    const start = this.#offset;
    const tag = this.#octet();
    if ((tag & multiOctetTag) === multiOctetTag) throw malformed('a tag of several octets');
    const length = this.#length();
    const end = this.#offset + length;
    if (end > this.#bytes.length) throw malformed('a length beyond the end');
    const content = this.#bytes.subarray(this.#offset, end);
    this.#offset = end;
    return { tag, content, raw: this.#bytes.subarray(start, end) };
  }

  next(tag: number): DerValue {
    const value = this.any();
    if (value.tag !== tag) throw malformed(`tag ${hex(value.tag)} where ${hex(tag)} is expected`);
    return value;
  }

  /** the next value when it has this tag; undefined, and nothing is consumed, when it has another or there is none */
  optional(tag: number): DerValue | undefined {
    return this.#bytes[this.#offset] === tag ? this.any() : undefined;
  }

  /** opens the next value, which must have this tag */
  enter(tag: number): DerReader {
    return new DerReader(this.next(tag).content);
  }

  end(): void {
    if (!this.isAtEnd) throw malformed('more values than expected');
  }

  #octet(): number {
    const octet = this.#bytes[this.#offset];
    if (octet === undefined) throw malformed('it ends too early');
    this.#offset += 1;
    return octet;
  }

  #length(): number {
    const first = this.#octet();
    if (first < 0x80) return first;
    const octets = first & 0x7f;
    if (octets === 0) throw malformed('an indefinite length');
    if (octets > 4) throw malformed('a length of more than four octets');
    let length = 0;
    for (let index = 0; index < octets; index += 1) length = length * 256 + this.#octet();
    if (length < 0x80 || length < 256 ** (octets - 1)) throw malformed('a length that is not the shortest');
    return length;
  }
}

/** The one value that `bytes` are, checked in depth, with nothing after it. */
export function readDerValue(bytes: Uint8Array): DerValue {
  const reader = new DerReader(bytes);
  const value = reader.any();
  if (!reader.isAtEnd) throw malformed('bytes after the value');
  checkInside(value, 1);
  return value;
}

/** `bytes` as they are, once they are known to be one DER value and nothing else */
export function parseDer(bytes: Uint8Array): Der {
  return readDerValue(bytes).raw as Der;
}

function checkInside(value: DerValue, depth: number): void {
  if ((value.tag & constructedBit) === 0) return;
  if (depth >= maxDepth) throw malformed(`nested deeper than ${maxDepth}`);
  const reader = new DerReader(value.content);
  while (!reader.isAtEnd) checkInside(reader.any(), depth + 1);
}

/** dotted text of an OBJECT IDENTIFIER's content; arcs up to 2^28, which covers every one that matters here */
export function objectIdText(content: Uint8Array): string {
  const arcs: number[] = [];
  let arc = 0;
  let octetsInArc = 0;
  for (const octet of content) {
    if (octetsInArc === 0 && octet === 0x80) throw malformed('an object identifier that is not the shortest');
    octetsInArc += 1;
    if (octetsInArc > 4) throw malformed('an object identifier with an arc that is too long');
    arc = arc * 128 + (octet & 0x7f);
    if (octet >= 0x80) continue;
    arcs.push(arc);
    arc = 0;
    octetsInArc = 0;
  }
  const [first, ...rest] = arcs;
  if (first === undefined || octetsInArc !== 0) throw malformed('an object identifier that is cut off');
  const root = Math.min(Math.floor(first / 40), 2);
  return [root, first - root * 40, ...rest].join('.');
}

export function readBoolean(value: DerValue): boolean {
  const [octet] = value.content;
  if (value.content.length !== 1 || (octet !== 0 && octet !== 0xff))
    throw malformed('a boolean that is neither 00 nor ff');
  return octet === 0xff;
}

/** a non-negative INTEGER of at most four octets: versions, path lengths */
export function readSmallInteger(value: DerValue): number {
  const { content } = value;
  const [first, second] = content;
  if (first === undefined) throw malformed('an empty integer');
  if (first >= 0x80) throw malformed('a negative integer');
  if (first === 0 && second !== undefined && second < 0x80) throw malformed('an integer that is not the shortest');
  if (content.length > 4) throw malformed('an integer that is too large');
  return content.reduce((number, octet) => number * 256 + octet, 0);
}

/** content of a BIT STRING without its count of unused bits, and that count */
export function readBitString(value: DerValue): { readonly bits: Uint8Array; readonly unused: number } {
  const [unused] = value.content;
  const bits = value.content.subarray(1);
  if (unused === undefined || unused > 7 || (unused > 0 && bits.length === 0)) throw malformed('a broken bit string');
  return { bits, unused };
}

function hex(tag: number): string {
  return tag.toString(16).padStart(2, '0');
}
