// From the texts of a bundle's backing to its certificates: as a kubelet makes them (CERTIFICATE blocks only, headers and
// text dropped, each certificate once), stricter in what is refused, and in an order that depends on nothing but the
// certificates. What is refused is refused whole, and never with its bytes. Pure.
import type { EpochMs } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { distinctCertificates } from '../x509/bundle-text.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { findPemBlocks } from '../x509/find-pem-blocks.ts';
import { findPrivateKey, holdsDerPrivateKey } from '../x509/find-private-key.ts';
import type { PemBlock } from '../x509/pem.ts';
import { readCertificate } from '../x509/read-certificate.ts';
import { x509Errors } from '../x509/x509-errors.ts';
import { bundleErrors } from './bundle-errors.ts';

/** one object or file; `source` is what messages call it */
export type BackingText = { readonly source: string; readonly text: string | Uint8Array };

export type BundleFault = 'private-key' | 'unreadable' | 'not-a-ca' | 'empty' | 'expired' | 'too-large';

export type SanitisedBundle =
  | {
      readonly kind: 'clean';
      /** each once, ordered by SHA-256; expired ones too */
      readonly certificates: readonly Certificate[];
      /** labels of blocks that are no certificates, each once */
      readonly leftOut: readonly string[];
    }
  | { readonly kind: 'refused'; readonly fault: BundleFault; readonly error: LeafgateError };

type Refused = Extract<SanitisedBundle, { readonly kind: 'refused' }>;

/** what the API server takes as one bundle; a file that a kubelet writes is one of those, or a few */
export const maxBackingBytes = 1024 * 1024;

/** All texts are one bundle: what is wrong with one of them refuses it. Never throws. */
export function sanitiseBundle(texts: readonly BackingText[], now: EpochMs): SanitisedBundle {
  const certificates: Certificate[] = [];
  const leftOut = new Set<string>();
  for (const text of texts) {
    const read = readBacking(text);
    if (read.kind === 'refused') return read;
    certificates.push(...read.certificates);
    for (const label of read.leftOut) leftOut.add(label);
  }
  const distinct = distinctCertificates(certificates);
  const source = texts.map((text) => text.source).join(', ');
  if (distinct.length === 0) return refused('empty', x509Errors.error('pem-empty', { source }));
  if (distinct.every((certificate) => isExpired(certificate, now))) {
    return refused('expired', bundleErrors.error('bundle-expired', { source, count: distinct.length }));
  }
  return { kind: 'clean', certificates: distinct, leftOut: [...leftOut] };
}

/** `notAfter` is the last instant of validity (RFC 5280 4.1.2.5) */
export function isExpired({ notAfter }: Certificate, now: EpochMs): boolean {
  return notAfter < now;
}

function readBacking({ source, text }: BackingText): SanitisedBundle {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  if (bytes.length > maxBackingBytes) {
    return refused('too-large', x509Errors.error('pem-too-large', { source, limit: `${maxBackingBytes} bytes` }));
  }
  // one char a byte: comments may be in any encoding, all that counts is ASCII
  const plain = Buffer.from(bytes).toString('latin1');
  const keyLine = findPrivateKey(plain) ?? (holdsDerPrivateKey(bytes) ? 1 : undefined);
  if (keyLine !== undefined) return privateKey(source, keyLine);
  const found = findPemBlocks(plain);
  if (found.kind === 'broken') {
    const { line, reason } = found;
    return refused('unreadable', x509Errors.error('pem-broken-block', { source, line, reason }));
  }
  return readBlocks(found.blocks, source);
}

function readBlocks(blocks: readonly PemBlock[], source: string): SanitisedBundle {
  const certificates: Certificate[] = [];
  const leftOut: string[] = [];
  for (const block of blocks) {
    if (certificateForms.has(block.label)) return foreignForm(block, source);
    if (block.label !== 'CERTIFICATE') {
      leftOut.push(block.label);
      continue;
    }
    const read = readBlock(block, source);
    if ('kind' in read) return read;
    certificates.push(read);
  }
  return { kind: 'clean', certificates, leftOut };
}

/** Certificates in another form: to leave one out would be noticed late, and only some readers take it. */
const certificateForms: ReadonlySet<string> = new Set(['X509 CERTIFICATE', 'TRUSTED CERTIFICATE', 'PKCS7', 'CMS']);

function foreignForm({ label, line }: PemBlock, source: string): Refused {
  const fields = { source, line, label, expected: 'CERTIFICATE' };
  return refused('unreadable', x509Errors.error('pem-wrong-label', fields));
}

function readBlock({ bytes, line }: PemBlock, source: string): Certificate | Refused {
  let certificate: Certificate;
  try {
    certificate = readCertificate(bytes);
  } catch (thrown) {
    if (holdsDerPrivateKey(bytes)) return privateKey(source, line);
    const reason = LeafgateError.from(thrown).message;
    return refused('unreadable', x509Errors.error('pem-bad-certificate', { source, line, reason }));
  }
  // as the API server judges; roots of version 1 have no constraints, and clients differ about them
  if (certificate.basicConstraints?.isCa === true) return certificate;
  const { subject } = certificate;
  return refused('not-a-ca', bundleErrors.error('bundle-not-a-ca', { source, line, subject }));
}

function privateKey(source: string, line: number): Refused {
  return refused('private-key', x509Errors.error('pem-private-key', { source, line }));
}

function refused(fault: BundleFault, error: LeafgateError): Refused {
  return { kind: 'refused', fault, error };
}
