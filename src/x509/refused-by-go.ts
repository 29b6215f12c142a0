// Which certificates Go's crypto/x509 does not read although OpenSSL does. The API server and most of what runs in a cluster
// read certificates with it, so such a CA would be trusted by some and unknown to others. Rules of Go 1.26 (parser.go), a little
// stricter where versions of Go differ and nobody writes such a thing on purpose. Pure.
import type { Certificate } from './certificate-types.ts';
import { readCertificateParts } from './certificate-parts.ts';
import { derTags, objectIdText, DerReader, type DerValue } from './der-reader.ts';
import { extensionRules } from './go-extension-rules.ts';
import type { ExtensionValue } from './read-extensions.ts';

/** What Go does not read, in words that follow "has"; undefined: it reads the certificate. */
export function refusedByGo(certificate: Certificate): string | undefined {
  try {
    return refusedPart(certificate);
  } catch {
    // what DerReader says of it
    return 'names or a key that are not DER';
  }
}

function refusedPart(certificate: Certificate): string | undefined {
  const { issuer, subject, publicKeyInfo, extensions } = readCertificateParts(certificate.der);
  return (
    refusedName(issuer, 'an issuer') ??
    refusedName(subject, 'a subject') ??
    refusedKey(publicKeyInfo) ??
    extensions.map(refusedExtension).find((refused) => refused !== undefined)
  );
}

function refusedName(name: Uint8Array, role: string): string | undefined {
  const sets = new DerReader(name).enter(derTags.sequence);
  while (!sets.isAtEnd) {
    const set = sets.enter(derTags.set);
    while (!set.isAtEnd) {
      const attribute = set.enter(derTags.sequence);
      attribute.next(derTags.objectId);
      const fault = faultOfText(attribute.any());
      if (fault !== undefined) return `${role} with ${fault}`;
    }
  }
  return undefined;
}

/** X.680 table 10, and the two more that Go lets pass: some CAs have them */
const printable = /^[A-Za-z0-9 '()+,\-./:=?*&]*$/;

const textRules: { readonly [tag: number]: { readonly kind: string; readonly isRight: (bytes: Buffer) => boolean } } = {
  [derTags.utf8String]: { kind: 'UTF8String', isRight: (bytes) => isUtf8(bytes) },
  [derTags.printableString]: { kind: 'PrintableString', isRight: (bytes) => printable.test(bytes.toString('latin1')) },
  0x12: { kind: 'NumericString', isRight: (bytes) => /^[0-9 ]*$/.test(bytes.toString('latin1')) },
  // T61String: whatever it is, it is read as Latin-1
  0x14: { kind: 'T61String', isRight: () => true },
  0x16: { kind: 'IA5String', isRight: (bytes) => bytes.every((byte) => byte < 0x80) },
  0x1e: { kind: 'BMPString', isRight: isBmp },
};

function faultOfText({ tag, content }: DerValue): string | undefined {
  const rule = textRules[tag];
  if (rule === undefined) return 'a value that is no text';
  return rule.isRight(Buffer.from(content)) ? undefined : `a character that a ${rule.kind} does not have`;
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** code points of two octets, without surrogates and those that are no character */
function isBmp(bytes: Buffer): boolean {
  if (bytes.length % 2 !== 0) return false;
  for (let at = 0; at < bytes.length; at += 2) {
    const point = bytes.readUInt16BE(at);
    if (point >= 0xfffe || (point >= 0xfdd0 && point <= 0xfdef) || (point >= 0xd800 && point <= 0xdfff)) return false;
  }
  return true;
}

const rsaKey = '1.2.840.113549.1.1.1';
const ecKey = '1.2.840.10045.2.1';
const nullParameters = '0500';
/** SEC 1, 2.3.3 */
const uncompressedPoint = 4;

/** what OpenSSL reads of a key and Go does not; keys of kinds that Go does not know, it leaves alone */
function refusedKey(info: Uint8Array): string | undefined {
  const reader = new DerReader(info);
  const algorithm = reader.enter(derTags.sequence);
  const id = objectIdText(algorithm.next(derTags.objectId).content);
  const parameters = algorithm.isAtEnd ? undefined : algorithm.any();
  const [unused, first] = reader.next(derTags.bitString).content;
  // OpenSSL takes the bits as they stand, Go moves them to the right
  if (unused !== 0) return 'a key of a broken number of bits';
  if (id === rsaKey && Buffer.from(parameters?.raw ?? []).toString('hex') !== nullParameters)
    return 'an RSA key without the parameters that RFC 3279 wants';
  if (id === ecKey && parameters?.tag !== derTags.objectId) return 'a key on a curve that is not named';
  if (id === ecKey && first !== uncompressedPoint) return 'a key whose point is compressed';
  return undefined;
}

function refusedExtension({ id, critical, content }: ExtensionValue): string | undefined {
  const rule = extensionRules[id];
  if (rule === undefined) return undefined;
  if (critical && rule.isNeverCritical === true) return `${rule.name}, marked as critical`;
  try {
    return rule.isRead(content) ? undefined : `${rule.name} that Go does not read`;
  } catch {
    // what DerReader says of it
    return `${rule.name} that Go does not read`;
  }
}
