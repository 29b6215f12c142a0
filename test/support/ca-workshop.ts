// Makes certificates for tests, good ones and ones with exactly one fault, with keys that live as long as the test. It
// encodes what the product refuses to encode, which is why it is not the product's own encoder.
import { createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { days, epoch, hours, minus, plus } from '../../src/clock.ts';
import type { EpochMs } from '../../src/clock.ts';
import type { Certificate, Signer } from '../../src/x509/certificate-types.ts';
import { encodeName, subjectKeyIdOf } from '../../src/x509/create-ca.ts';
import { contextTag, derTags } from '../../src/x509/der-reader.ts';
import { encodeTime } from '../../src/x509/der-time.ts';
import { derValue } from '../../src/x509/der-writer.ts';
import {
  authorityKeyIdExtension,
  caBasicConstraintsExtension,
  keyUsageExtension,
  subjectKeyIdExtension,
} from '../../src/x509/encode-extensions.ts';
import {
  contextConstructed,
  encodeAsn1,
  nullValue,
  objectId,
  sequence,
  smallInteger,
} from '../../src/x509/forge-asn1.ts';
import type { Asn1Node } from '../../src/x509/forge-asn1.ts';
import { readCertificate } from '../../src/x509/read-certificate.ts';
import { createSerial } from '../../src/x509/serial.ts';

export type TestKeyKind =
  'P-256' | 'P-384' | 'P-521' | 'secp256k1' | 'RSA-1024' | 'RSA-2048' | 'RSA-4096' | 'RSA-8192' | 'Ed25519' | 'Ed448';

export const testNow = epoch(Date.UTC(2026, 10, 30, 12));

export type MadeCa = { readonly certificate: Certificate; readonly key: KeyObject; readonly keyId: Uint8Array };

/** What a certificate shall be; each member that is left out is as a good CA has it. */
export type Blueprint = {
  readonly name?: string;
  readonly subjectDer?: Uint8Array;
  readonly key?: KeyObject;
  /** whose public key it certifies, when that is not `key` */
  readonly publicKey?: KeyObject;
  readonly issuer?: MadeCa;
  readonly issuerDer?: Uint8Array;
  /** the INTEGER's content as it is */
  readonly serial?: Uint8Array;
  readonly version?: 1 | 3;
  readonly notBefore?: EpochMs;
  readonly notAfter?: EpochMs;
  /** takes the good extensions by their names, gives the list that is written */
  readonly extensions?: (good: GoodExtensions) => readonly Asn1Node[];
  readonly digest?: 'sha1' | 'sha256';
};

export type GoodExtensions = {
  readonly basicConstraints: Asn1Node;
  readonly keyUsage: Asn1Node;
  readonly subjectKeyId: Asn1Node;
  /** empty for a self-signed one */
  readonly authorityKeyId: readonly Asn1Node[];
};

export function makeKey(kind: TestKeyKind = 'P-256'): KeyObject {
  if (kind === 'Ed25519') return generateKeyPairSync('ed25519').privateKey;
  if (kind === 'Ed448') return generateKeyPairSync('ed448').privateKey;
  if (kind.startsWith('RSA-')) return generateKeyPairSync('rsa', { modulusLength: Number(kind.slice(4)) }).privateKey;
  return generateKeyPairSync('ec', { namedCurve: kind }).privateKey;
}

/** keys of the slow kinds once, however often a test asks */
export function createKeyring(): (kind: TestKeyKind) => KeyObject {
  const keys = new Map<TestKeyKind, KeyObject>();
  return (kind) => {
    const known = keys.get(kind) ?? makeKey(kind);
    keys.set(kind, known);
    return known;
  };
}

export function makeCa(blueprint: Blueprint = {}): MadeCa {
  const key = blueprint.key ?? makeKey();
  const certificate = readCertificate(encodeBlueprint({ ...blueprint, key }));
  return { certificate, key, keyId: keyIdOf(blueprint.publicKey ?? createPublicKey(key)) };
}

/** DER, without being read back: for what no reader accepts */
export function encodeBlueprint(blueprint: Blueprint & { readonly key: KeyObject }): Uint8Array {
  const publicKey = blueprint.publicKey ?? createPublicKey(blueprint.key);
  const subjectDer =
    blueprint.subjectDer ?? encodeName('test', blueprint.name ?? `root ${randomBytes(4).toString('hex')}`);
  const signingKey = blueprint.issuer?.key ?? blueprint.key;
  const { digest, identifierDer } = schemeOf(signingKey, blueprint.digest);
  const tbs = derValue(
    derTags.sequence,
    ...(blueprint.version === 1 ? [] : [encodeAsn1(contextConstructed(0, smallInteger(2)))]),
    derValue(derTags.integer, blueprint.serial ?? createSerial(randomBytes)),
    identifierDer,
    blueprint.issuerDer ?? blueprint.issuer?.certificate.subjectDer ?? subjectDer,
    derValue(
      derTags.sequence,
      timeValue(blueprint.notBefore ?? minus(testNow, hours(1))),
      timeValue(blueprint.notAfter ?? plus(testNow, days(365))),
    ),
    subjectDer,
    publicKey.export({ format: 'der', type: 'spki' }),
    ...(blueprint.version === 1 ? [] : [extensionsField(blueprint, publicKey)]),
  );
  const signature = sign(digest, tbs, signingKey);
  return derValue(derTags.sequence, tbs, identifierDer, derValue(derTags.bitString, Uint8Array.of(0), signature));
}

export function signerOf(
  signer: MadeCa,
  options: { readonly chain?: readonly MadeCa[]; readonly root?: MadeCa } = {},
): Signer {
  const chain = (options.chain ?? []).map(({ certificate }) => certificate);
  const all = [signer.certificate, ...chain, ...(options.root === undefined ? [] : [options.root.certificate])];
  return {
    certificate: signer.certificate,
    key: signer.key,
    chain,
    notAfter: epoch(Math.min(...all.map(({ notAfter }) => notAfter))),
  };
}

function extensionsField(blueprint: Blueprint, publicKey: KeyObject): Uint8Array {
  const good: GoodExtensions = {
    basicConstraints: caBasicConstraintsExtension(),
    keyUsage: keyUsageExtension('keyCertSignAndCrlSign'),
    subjectKeyId: subjectKeyIdExtension(keyIdOf(publicKey)),
    authorityKeyId: blueprint.issuer === undefined ? [] : [authorityKeyIdExtension(blueprint.issuer.keyId)],
  };
  const list = blueprint.extensions?.(good) ?? goodList(good);
  return derValue(contextTag(3, 'constructed'), encodeAsn1(sequence(...list)));
}

export function goodList(good: GoodExtensions): readonly Asn1Node[] {
  return [good.basicConstraints, good.keyUsage, good.subjectKeyId, ...good.authorityKeyId];
}

function keyIdOf(publicKey: KeyObject): Uint8Array {
  return subjectKeyIdOf(publicKey.export({ format: 'der', type: 'spki' }));
}

function timeValue(at: EpochMs): Uint8Array {
  const { tag, text } = encodeTime(at);
  return derValue(tag, Buffer.from(text, 'latin1'));
}

function schemeOf(
  key: KeyObject,
  digest: 'sha1' | 'sha256' = 'sha256',
): { digest: string | null; identifierDer: Uint8Array } {
  const identifier = (id: string, ...parameters: Asn1Node[]): Uint8Array =>
    encodeAsn1(sequence(objectId(id), ...parameters));
  switch (key.asymmetricKeyType) {
    case 'ed25519':
      return { digest: null, identifierDer: identifier('1.3.101.112') };
    case 'ed448':
      return { digest: null, identifierDer: identifier('1.3.101.113') };
    case 'rsa':
      return { digest, identifierDer: identifier(`1.2.840.113549.1.1.${digest === 'sha1' ? 5 : 11}`, nullValue()) };
    default:
      return { digest, identifierDer: identifier(digest === 'sha1' ? '1.2.840.10045.4.1' : '1.2.840.10045.4.3.2') };
  }
}
