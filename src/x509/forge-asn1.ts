// The one door to node-forge: its `asn1` encodes what is constant for a CA and a leaf key, once. It never parses and
// never verifies here; nearly all its advisories are about those (facts: node-forge 1.4.3 is the floor).
import type forge from 'node-forge';
import asn1 from 'node-forge/lib/asn1.js';

/** a value to be encoded; made by the functions below */
export type Asn1Node = forge.asn1.Asn1;

export function sequence(...members: Asn1Node[]): Asn1Node {
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.SEQUENCE, true, members);
}

export function setOf(member: Asn1Node): Asn1Node {
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.SET, true, [member]);
}

export function objectId(dotted: string): Asn1Node {
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.OID, false, asn1.oidToDer(dotted).getBytes());
}

export function nullValue(): Asn1Node {
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.NULL, false, '');
}

export function trueValue(): Asn1Node {
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.BOOLEAN, false, '\xff');
}

export function smallInteger(value: number): Asn1Node {
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.INTEGER, false, asn1.integerToDer(value).getBytes());
}

export function octetString(bytes: Uint8Array): Asn1Node {
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.OCTETSTRING, false, binary(bytes));
}

/** `bits` with the number of bits that do not count in its last octet */
export function bitString(bits: Uint8Array, unused = 0): Asn1Node {
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.BITSTRING, false, String.fromCharCode(unused) + binary(bits));
}

export function printableString(text: string): Asn1Node {
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.PRINTABLESTRING, false, text);
}

export function utf8String(text: string): Asn1Node {
  return asn1.create(asn1.Class.UNIVERSAL, asn1.Type.UTF8, false, binary(Buffer.from(text, 'utf8')));
}

/** context-specific and primitive: the number and the raw content */
export function contextPrimitive(number: number, content: Uint8Array): Asn1Node {
  return asn1.create(asn1.Class.CONTEXT_SPECIFIC, tagNumber(number), false, binary(content));
}

/** context-specific and constructed */
export function contextConstructed(number: number, ...members: Asn1Node[]): Asn1Node {
  return asn1.create(asn1.Class.CONTEXT_SPECIFIC, tagNumber(number), true, members);
}

export function encodeAsn1(node: Asn1Node): Uint8Array {
  return Buffer.from(asn1.toDer(node).getBytes(), 'latin1');
}

/** node-forge's types know universal tags only, its encoder takes any number */
function tagNumber(number: number): forge.asn1.Type {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- see above
  return number;
}

/** node-forge keeps bytes as text of one char a byte */
function binary(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
