// Makes a CA as design section 4 describes it: a subject of its own for each generation, so that a client that holds
// two of them never takes one for the other; P-256; one key usage; no path length. Randomness and time are arguments.
import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { hours, minus, plus, type DurationMs, type EpochMs } from '../clock.ts';
import { SecretBytes } from '../secret-bytes.ts';
import type { Certificate } from './certificate-types.ts';
import { contextTag, derTags, parseDer, readBitString, DerReader } from './der-reader.ts';
import { encodeTime } from './der-time.ts';
import { derValue } from './der-writer.ts';
import {
  authorityKeyIdExtension,
  caBasicConstraintsExtension,
  keyUsageExtension,
  subjectKeyIdExtension,
} from './encode-extensions.ts';
import { contextConstructed, encodeAsn1, objectId, sequence, setOf, smallInteger, utf8String } from './forge-asn1.ts';
import { objectIds } from './object-ids.ts';
import { readCertificate } from './read-certificate.ts';
import { createSerial } from './serial.ts';
import { assembleCertificate } from './sign-leaf.ts';
import { signatureSchemeOf, signSync } from './signature-scheme.ts';

export type CaKeyKind = 'P-256' | 'P-384' | 'RSA-2048' | 'RSA-3072' | 'RSA-4096' | 'Ed25519';

export type CaRequest = {
  readonly now: EpochMs;
  readonly lifetimeMs: DurationMs;
  readonly randomBytes: (count: number) => Uint8Array;
  /** at most 64 characters (RFC 5280 appendix A, ub-organization-name); `leafgate` when absent */
  readonly organisation?: string;
  readonly keyKind?: CaKeyKind;
};

export type CreatedCa = { readonly certificate: Certificate; readonly privateKeyPkcs8: SecretBytes };

/** clients whose clock is behind ours still accept the new CA */
const backdate = hours(1);

export function createCa(request: CaRequest): CreatedCa {
  const { now, lifetimeMs, randomBytes } = request;
  const { publicKey, privateKey } = generateCaKey(request.keyKind ?? 'P-256');
  // by the key, as the ID in a pool is: a person who meets the one finds the other
  const generation = generationOf(subjectKeyIdOf(publicKey.export({ format: 'der', type: 'spki' })));
  const organisation = request.organisation ?? 'leafgate';
  const subjectDer = encodeName(organisation, `${organisation} CA ${generation}`);
  const der = encodeCaCertificate({
    subjectDer,
    publicKey,
    serial: createSerial(randomBytes),
    notBefore: minus(now, backdate),
    notAfter: plus(now, lifetimeMs),
    issuer: { subjectDer, key: privateKey },
  });
  const pkcs8 = privateKey.export({ format: 'der', type: 'pkcs8' });
  return { certificate: readCertificate(der), privateKeyPkcs8: new SecretBytes(pkcs8) };
}

export type CaCertificateRequest = {
  readonly subjectDer: Uint8Array;
  readonly publicKey: KeyObject;
  readonly serial: Uint8Array;
  readonly notBefore: EpochMs;
  readonly notAfter: EpochMs;
  /** who signs; without `keyId` the certificate is self-signed and carries no authority key id */
  readonly issuer: { readonly subjectDer: Uint8Array; readonly key: KeyObject; readonly keyId?: Uint8Array };
  readonly pathLength?: number;
};

/** The certificate of a CA, self-signed or issued by another. */
export function encodeCaCertificate(request: CaCertificateRequest): Uint8Array {
  const { issuer, publicKey } = request;
  const scheme = signatureSchemeOf(issuer.key);
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  const extensions = [
    caBasicConstraintsExtension(request.pathLength),
    keyUsageExtension('keyCertSignAndCrlSign'),
    subjectKeyIdExtension(subjectKeyIdOf(spki)),
    ...(issuer.keyId === undefined ? [] : [authorityKeyIdExtension(issuer.keyId)]),
  ];
  const tbs = derValue(
    derTags.sequence,
    encodeAsn1(contextConstructed(0, smallInteger(2))),
    derValue(derTags.integer, request.serial),
    scheme.identifierDer,
    issuer.subjectDer,
    derValue(derTags.sequence, timeValue(request.notBefore), timeValue(request.notAfter)),
    request.subjectDer,
    spki,
    derValue(contextTag(3, 'constructed'), encodeAsn1(sequence(...extensions))),
  );
  return assembleCertificate({ tbs, scheme }, signSync(scheme, issuer.key, tbs));
}

/** what tells one CA from another to people: the first eight hex digits of the subject key id */
export function generationOf(subjectKeyId: Uint8Array): string {
  return Buffer.from(subjectKeyId).toString('hex').slice(0, 8);
}

/** RFC 7093 2, method 1: the first 160 bits of the SHA-256 of the public key's bits */
export function subjectKeyIdOf(spki: Uint8Array): Uint8Array {
  const reader = new DerReader(parseDer(spki)).enter(derTags.sequence);
  reader.next(derTags.sequence);
  const { bits } = readBitString(reader.next(derTags.bitString));
  return createHash('sha256').update(bits).digest().subarray(0, 20);
}

/** O and CN, in that order */
export function encodeName(organisation: string, commonName: string): Uint8Array {
  const attribute = (id: string, text: string) => setOf(sequence(objectId(id), utf8String(text)));
  return encodeAsn1(
    sequence(attribute(objectIds.organisation, organisation), attribute(objectIds.commonName, commonName)),
  );
}

function timeValue(at: EpochMs): Uint8Array {
  const { tag, text } = encodeTime(at);
  return derValue(tag, Buffer.from(text, 'latin1'));
}

function generateCaKey(kind: CaKeyKind): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  switch (kind) {
    case 'P-256':
    case 'P-384':
      return generateKeyPairSync('ec', { namedCurve: kind });
    case 'RSA-2048':
    case 'RSA-3072':
    case 'RSA-4096':
      return generateKeyPairSync('rsa', { modulusLength: Number(kind.slice(4)) });
    case 'Ed25519':
      return generateKeyPairSync('ed25519');
    default:
      return kind satisfies never;
  }
}
