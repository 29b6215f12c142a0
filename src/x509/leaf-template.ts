// Leaves as a template (design decision 9): what is constant for a CA and a leaf key is encoded once; serial, dates,
// subject and SAN are spliced in for each. Encoding takes about 4 µs. It must not know who asks, or what time it is.
import type { EpochMs } from '../clock.ts';
import type { ParsedName } from '../names/name-types.ts';
import type { LeafKey, Signer } from './certificate-types.ts';
import { contextTag, derTags } from './der-reader.ts';
import { encodeTime } from './der-time.ts';
import { DerWriter } from './der-writer.ts';
import {
  authorityKeyIdExtension,
  keyUsageExtension,
  leafBasicConstraintsExtension,
  serverAuthExtension,
} from './encode-extensions.ts';
import { contextConstructed, encodeAsn1, objectId, smallInteger } from './forge-asn1.ts';
import { objectIds } from './object-ids.ts';
import { isUsableSerial } from './serial.ts';
import { signatureSchemeOf, type SignatureScheme } from './signature-scheme.ts';
import { x509Errors } from './x509-errors.ts';

export type LeafTemplate = {
  readonly signer: Signer;
  readonly key: LeafKey;
  readonly scheme: SignatureScheme;
  readonly parts: LeafParts;
};

/** encoded pieces in the order in which a leaf has them */
type LeafParts = {
  readonly version: Uint8Array;
  readonly algorithmAndIssuer: Uint8Array;
  readonly subjectAttributeId: Uint8Array;
  readonly publicKey: Uint8Array;
  /** key usage, extended key usage, basic constraints, authority key id */
  readonly extensions: Uint8Array;
  readonly subjectAltNameId: Uint8Array;
};

export type LeafRequest = {
  readonly name: Exclude<ParsedName, { readonly kind: 'refused' }>;
  /** from `createSerial` */
  readonly serial: Uint8Array;
  readonly notBefore: EpochMs;
  /** never after the signer's */
  readonly notAfter: EpochMs;
};

/** a leaf that only lacks its signature */
export type LeafDraft = { readonly tbs: Uint8Array; readonly signer: Signer; readonly scheme: SignatureScheme };

/** headers, serial, dates, subject and the longest name, with room */
const variableBytes = 640;

/** Throws `signing-key-unsupported` or `leaf-refused`. */
export function createLeafTemplate(signer: Signer, key: LeafKey): LeafTemplate {
  const issuerKeyId = signer.certificate.subjectKeyId;
  if (issuerKeyId === undefined || issuerKeyId.length === 0) throw refused('the CA has no subject key id');
  const scheme = signatureSchemeOf(signer.key);
  const extensions = [
    keyUsageExtension('digitalSignature'),
    serverAuthExtension(),
    leafBasicConstraintsExtension(),
    authorityKeyIdExtension(issuerKeyId),
  ];
  return {
    signer,
    key,
    scheme,
    parts: {
      version: encodeAsn1(contextConstructed(0, smallInteger(2))),
      // the issuer's bytes as they stand in the CA: Go compares them, and re-encoding changes string types
      algorithmAndIssuer: Buffer.concat([scheme.identifierDer, signer.certificate.subjectDer]),
      subjectAttributeId: encodeAsn1(objectId(objectIds.serialNumber)),
      publicKey: key.spkiDer,
      extensions: Buffer.concat(extensions.map(encodeAsn1)),
      subjectAltNameId: encodeAsn1(objectId(objectIds.subjectAltName)),
    },
  };
}

/** Throws `leaf-refused` when asked for what must never be signed. */
export function encodeLeaf(template: LeafTemplate, request: LeafRequest): LeafDraft {
  const { signer, scheme, parts } = template;
  if (!isUsableSerial(request.serial)) throw refused('the serial is not 16 octets and positive');
  if (request.notAfter > signer.notAfter) throw refused('it would outlive its chain');
  if (request.notBefore >= request.notAfter) throw refused('its validity is empty');

  const constantBytes = parts.algorithmAndIssuer.length + parts.publicKey.length + parts.extensions.length;
  const writer = new DerWriter(constantBytes + variableBytes);
  writeExtensions(writer, parts, request.name);
  writer.prepend(parts.publicKey);
  writeSubject(writer, parts, request.serial);
  writeValidity(writer, request);
  writer.prepend(parts.algorithmAndIssuer);
  writeBytes(writer, derTags.integer, request.serial);
  writer.prepend(parts.version);
  writer.header(derTags.sequence);
  return { tbs: writer.finish(), signer, scheme };
}

/** The subject repeats the serial, so that Envoy's log can name the leaf (design section 4, leaf). */
function writeSubject(writer: DerWriter, parts: LeafParts, serial: Uint8Array): void {
  const end = writer.written;
  writer.prependAscii(Buffer.from(serial.buffer, serial.byteOffset, serial.byteLength).toString('hex'));
  writer.header(derTags.printableString, end);
  writer.prepend(parts.subjectAttributeId);
  writer.header(derTags.sequence, end);
  writer.header(derTags.set, end);
  writer.header(derTags.sequence, end);
}

function writeValidity(writer: DerWriter, { notBefore, notAfter }: LeafRequest): void {
  const end = writer.written;
  for (const at of [notAfter, notBefore]) {
    const mark = writer.written;
    const time = encodeTime(at);
    writer.prependAscii(time.text);
    writer.header(time.tag, mark);
  }
  writer.header(derTags.sequence, end);
}

function writeExtensions(writer: DerWriter, parts: LeafParts, name: LeafRequest['name']): void {
  // not critical: RFC 5280 4.2.1.6 asks for that only where the subject is empty
  writeGeneralName(writer, name);
  writer.header(derTags.sequence);
  writer.header(derTags.octetString);
  writer.prepend(parts.subjectAltNameId);
  writer.header(derTags.sequence);
  writer.prepend(parts.extensions);
  writer.header(derTags.sequence);
  writer.header(contextTag(3, 'constructed'));
}

/** dNSName is [2], iPAddress [7] (RFC 5280 4.2.1.6) */
function writeGeneralName(writer: DerWriter, name: LeafRequest['name']): void {
  switch (name.kind) {
    case 'dns':
      writer.prependAscii(name.host);
      writer.header(contextTag(2, 'primitive'));
      return;
    case 'ip':
      writeBytes(writer, contextTag(7, 'primitive'), name.address.octets);
      return;
    default:
      name satisfies never;
  }
}

function writeBytes(writer: DerWriter, tag: number, bytes: Uint8Array): void {
  const mark = writer.written;
  writer.prepend(bytes);
  writer.header(tag, mark);
}

function refused(reason: string): Error {
  return x509Errors.error('leaf-refused', { reason });
}
