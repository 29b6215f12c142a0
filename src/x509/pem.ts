// PEM (RFC 7468), strict on the way in and canonical on the way out. In: blocks, empty lines and # comments, nothing
// else, since clients read sloppy files each in its own way (one drops every CA, another keeps half). Out: LF, 64
// columns. It must not know what a bundle is for.
import { LeafgateError } from '../errors.ts';
import type { Certificate, Der, Pem } from './certificate-types.ts';
import { readCertificate } from './read-certificate.ts';
import { x509Errors } from './x509-errors.ts';

/** twice the largest system bundle seen, with room */
const maxBundleBytes = 4 * 1024 * 1024;
const maxBundleCertificates = 2000;

export type PemBlock = { readonly label: string; readonly bytes: Uint8Array; readonly line: number };

type OpenBlock = { readonly label: string; readonly line: number; readonly body: string[] };

/** `anywhere`: also outside blocks, as bundles of distributions and `openssl x509 -text` have it; comments start with # */
export type PemText = 'comments' | 'anywhere';

/**
 * The certificates of a bundle, in its order. `source` names the file or setting in errors. Throws `pem-*` at the first
 * fault: a private key, a broken or cut off block, headers, an unreadable certificate, no certificate, and text outside
 * blocks that is not allowed.
 */
export function parseCertificateBundle(
  text: string | Uint8Array,
  source: string,
  allowed: PemText = 'comments',
): readonly Certificate[] {
  if (text.length > maxBundleBytes)
    throw x509Errors.error('pem-too-large', { source, limit: `${maxBundleBytes} bytes` });
  const blocks = readPemBlocks(text, source, allowed);
  if (blocks.length > maxBundleCertificates) {
    throw x509Errors.error('pem-too-large', { source, limit: `${maxBundleCertificates} certificates` });
  }
  if (blocks.length === 0) throw x509Errors.error('pem-empty', { source });
  for (const { label, line } of blocks) {
    if (isPrivateKeyLabel(label)) throw x509Errors.error('pem-private-key', { source, line });
    if (label !== 'CERTIFICATE')
      throw x509Errors.error('pem-wrong-label', { source, line, label, expected: 'CERTIFICATE' });
  }
  return blocks.map(({ bytes, line }) => readBlock(bytes, { source, line }));
}

export function isPrivateKeyLabel(label: string): boolean {
  return label.endsWith('PRIVATE KEY');
}

function readBlock(bytes: Uint8Array, place: { readonly source: string; readonly line: number }): Certificate {
  try {
    return readCertificate(bytes);
  } catch (thrown) {
    const reason = LeafgateError.from(thrown).message;
    throw x509Errors.error('pem-bad-certificate', { ...place, reason }, thrown);
  }
}

/** Every block, whatever its label; the caller says which labels it takes. */
export function readPemBlocks(
  text: string | Uint8Array,
  source: string,
  allowed: PemText = 'comments',
): readonly PemBlock[] {
  // one char a byte: comments may be in any encoding, all that counts is ASCII
  const lines = (typeof text === 'string' ? text : Buffer.from(text).toString('latin1')).trimEnd().split('\n');
  const blocks: PemBlock[] = [];
  let open: OpenBlock | undefined;
  for (const [index, raw] of lines.entries()) {
    const place = { source, line: index + 1 };
    const content = raw.trimEnd();
    if (open !== undefined) {
      if (content === `-----END ${open.label}-----`) {
        blocks.push(closeBlock(open, source));
        open = undefined;
      } else {
        open.body.push(bodyLine(content, place));
      }
      continue;
    }
    const label = /^-----BEGIN ([A-Z0-9][A-Z0-9 ]{0,60})-----$/.exec(content)?.[1];
    if (label !== undefined) open = { label, line: place.line, body: [] };
    else checkOutside(content, place, allowed);
  }
  if (open !== undefined) throw broken({ source, line: open.line }, 'a block that is cut off before its END line');
  return blocks;
}

type Place = { readonly source: string; readonly line: number };

/** What is meant to be a block is never passed over as text: a root less would be noticed late. */
function checkOutside(content: string, place: Place, allowed: PemText): void {
  const isMarker = allowed === 'comments' ? content.startsWith('-----') : /----\s*(?:BEGIN|END)\b/.test(content);
  if (isMarker) throw broken(place, 'a BEGIN or END line that is broken or out of place');
  if (allowed === 'anywhere' || content === '' || content.startsWith('#')) return;
  throw x509Errors.error('pem-trailing-data', place);
}

function bodyLine(content: string, place: Place): string {
  if (content.includes(':')) throw x509Errors.error('pem-has-headers', place);
  if (content.startsWith('-----')) throw broken(place, 'a BEGIN or END line that does not fit the open block');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(content)) throw broken(place, 'a line inside a block that is not base64');
  return content;
}

function closeBlock({ label, line, body }: OpenBlock, source: string): PemBlock {
  const base64 = body.join('');
  const bytes = Buffer.from(base64, 'base64');
  // also catches padding in the middle, a length that is no multiple of four, and stray bits at the end
  if (bytes.length === 0 || bytes.toString('base64') !== base64)
    throw broken({ source, line }, 'a block whose base64 is not whole');
  return { label, bytes, line };
}

function broken(place: Place, reason: string): LeafgateError {
  return x509Errors.error('pem-broken-block', { ...place, reason });
}

export function encodePem(label: string, der: Uint8Array): string {
  return pemBytes(armourOf(label), [der]).toString('latin1');
}

export function encodeCertificatesPem(certificates: readonly Certificate[]): Pem {
  return certificates.map(({ der }) => encodePem('CERTIFICATE', der)).join('') as Pem;
}

/** What is sent in a handshake: the leaf, then the chain in its order; ASCII bytes in memory of their own. */
export function leafChainPem(leafDer: Der, chain: readonly Certificate[]): Uint8Array {
  return pemBytes(certificateArmour, [leafDer, ...chain.map(({ der }) => der)]);
}

/** the lines around a block */
type Armour = { readonly begin: Uint8Array; readonly end: Uint8Array };

function armourOf(label: string): Armour {
  return { begin: Buffer.from(`-----BEGIN ${label}-----\n`), end: Buffer.from(`-----END ${label}-----\n`) };
}

const certificateArmour = armourOf('CERTIFICATE');

/** Blocks one after the other. Put together as bytes: as strings they cost twice the time and 3 KB of garbage (measured). */
function pemBytes({ begin, end }: Armour, ders: readonly Uint8Array[]): Buffer {
  const size = ders.reduce((sum, der) => sum + begin.length + base64Size(der.length) + end.length, 0);
  const text = Buffer.alloc(size);
  let at = 0;
  for (const der of ders) {
    text.set(begin, at);
    at = writeBase64(der, text, at + begin.length);
    text.set(end, at);
    at += end.length;
  }
  return text;
}

/** columns of a line of base64 (RFC 7468 2) */
const columns = 64;
const lineFeed = 0x0a;

function base64Size(length: number): number {
  const characters = Math.ceil(length / 3) * 4;
  return characters + Math.ceil(characters / columns);
}

/** Lines, each with its end, from `at` on; returns where they end. */
function writeBase64(bytes: Uint8Array, text: Buffer, at: number): number {
  const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  const end = at + text.write(base64, at, 'latin1');
  const lines = Math.ceil(base64.length / columns);
  // from the last line on, each moves up by the line ends that go before it
  for (let line = lines - 1; line >= 0; line -= 1) {
    const start = at + line * columns;
    const lineEnd = Math.min(start + columns, end);
    text.copyWithin(start + line, start, lineEnd);
    text[lineEnd + line] = lineFeed;
  }
  return end + lines;
}
