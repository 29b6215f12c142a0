// Reads one certificate, whoever made it: bounds first, then our strict DER reader for what Node does not expose, then
// `node:crypto` for the rest. Reads, and does not judge: a v1 root of a system bundle is read like any other.
import { createHash, X509Certificate, type KeyObject } from 'node:crypto';
import { LeafgateError } from '../errors.ts';
import type { EpochMs } from '../clock.ts';
import type { Certificate, Der, KeyKind } from './certificate-types.ts';
import { contextTag, derTags, objectIdText, parseDer, readSmallInteger, DerReader } from './der-reader.ts';
import { readTime } from './der-time.ts';
import { readExtensions, type ReadExtensions } from './read-extensions.ts';
import { x509Errors } from './x509-errors.ts';

/** ordinary ones have 0.4 to 3 KiB; roots with long name constraints reach about 20 KiB */
export const maxCertificateBytes = 64 * 1024;

type Body = {
  readonly version: number;
  readonly subjectDer: Der;
  readonly issuerDer: Der;
  readonly notBefore: EpochMs;
  readonly notAfter: EpochMs;
  readonly extensions: ReadExtensions;
  readonly signatureAlgorithm: string;
};

/** Throws `certificate-too-large` or `certificate-unreadable`. The bytes are copied. */
export function readCertificate(bytes: Uint8Array): Certificate {
  if (bytes.length > maxCertificateBytes) {
    throw x509Errors.error('certificate-too-large', { bytes: bytes.length, maxBytes: maxCertificateBytes });
  }
  const der = unreadableUnless(() => parseDer(Uint8Array.from(bytes)));
  const { extensions, ...body } = unreadableUnless(() => readBody(der));
  const native = unreadableUnless(() => new X509Certificate(der));
  return {
    der,
    native,
    ...body,
    ...extensions,
    serialHex: native.serialNumber.toLowerCase().replace(/^(-?)(?:00)+(?=..)/, '$1'),
    subject: oneLine(native.subject),
    ...describeKey(native),
    sha256: createHash('sha256').update(der).digest('hex'),
  };
}

/** Node puts each attribute on a line of its own, and has nothing where the subject is empty */
function oneLine(subject: string | undefined): string {
  return subject === undefined ? '' : subject.replaceAll('\n', ', ');
}

function readBody(der: Uint8Array): Body {
  const certificate = new DerReader(der).enter(derTags.sequence);
  const body = certificate.enter(derTags.sequence);
  const signatureAlgorithm = objectIdText(certificate.enter(derTags.sequence).next(derTags.objectId).content);
  certificate.next(derTags.bitString);
  certificate.end();

  const explicitVersion = body.optional(contextTag(0, 'constructed'));
  const version =
    explicitVersion === undefined
      ? 1
      : 1 + readSmallInteger(new DerReader(explicitVersion.content).next(derTags.integer));
  if (version > 3) throw x509Errors.error('der-malformed', { reason: `version ${version}` });
  body.next(derTags.integer);
  body.next(derTags.sequence);
  const issuerDer = parseDer(body.next(derTags.sequence).raw);
  const validity = body.enter(derTags.sequence);
  const notBefore = readTime(validity.any());
  const notAfter = readTime(validity.any());
  validity.end();
  const subjectDer = parseDer(body.next(derTags.sequence).raw);
  body.next(derTags.sequence);
  body.optional(contextTag(1, 'primitive'));
  body.optional(contextTag(2, 'primitive'));
  const extensionsField = body.optional(contextTag(3, 'constructed'));
  body.end();
  const extensions =
    extensionsField === undefined
      ? { extensions: [] }
      : readExtensions(new DerReader(extensionsField.content).enter(derTags.sequence));
  return { version, subjectDer, issuerDer, notBefore, notAfter, extensions, signatureAlgorithm };
}

const curves: Readonly<Record<string, KeyKind>> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' };

function describeKey(native: X509Certificate): { keyKind: KeyKind; rsaBits: number } {
  try {
    return keyKindOf(native.publicKey);
  } catch {
    // a key that OpenSSL was built without; the certificate is still worth listing
    return { keyKind: 'other', rsaBits: 0 };
  }
}

export function keyKindOf(key: KeyObject): { readonly keyKind: KeyKind; readonly rsaBits: number } {
  const details = key.asymmetricKeyDetails;
  switch (key.asymmetricKeyType) {
    case 'ec':
      return { keyKind: curves[details?.namedCurve ?? ''] ?? 'other', rsaBits: 0 };
    case 'rsa':
      return { keyKind: 'RSA', rsaBits: details?.modulusLength ?? 0 };
    case 'ed25519':
      return { keyKind: 'Ed25519', rsaBits: 0 };
    default:
      return { keyKind: 'other', rsaBits: 0 };
  }
}

/** Maps whatever a parser throws to `certificate-unreadable`; OpenSSL's own text is kept as the cause only. */
function unreadableUnless<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (thrown) {
    const reason = thrown instanceof LeafgateError ? thrown.message : 'OpenSSL does not accept it';
    throw x509Errors.error('certificate-unreadable', { reason }, thrown);
  }
}
