// The fields of one CA of a pool as values: certificates, key, dates. Strict base64 and DER, one form of each field, and
// a private key where a certificate belongs is told apart from mere rubbish. It must not judge whether the CA is usable.
import type { KeyObject } from 'node:crypto';
import { epoch, type EpochMs } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { SecretBytes } from '../secret-bytes.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { isPrivateKeyLabel, readPemBlocks } from '../x509/pem.ts';
import { holdsPrivateKey, isPrivateKey, privateKeyFromDer, type PrivateKeyEncoding } from '../x509/private-key.ts';
import { readCertificate } from '../x509/read-certificate.ts';
import type { JsonObject } from './pool-document.ts';
import { poolErrors } from './pool-errors.ts';

/** One CA as it stands in the pool, and the name that errors give it. */
export type CaEntry = { readonly ca: string; readonly members: JsonObject };

/** between the leaf and the root; real chains have one or two */
const maxIntermediates = 8;
export const maxIdChars = 253;

export function readId({ ca, members }: CaEntry): string {
  const id = text({ ca, members }, 'ID');
  if (id === undefined) throw fieldFault(ca, 'ID', 'is missing');
  if (holdsPrivateKey(id)) throw poolErrors.error('pool-ca-private-key-as-id', { ca });
  if (id.length > maxIdChars) throw fieldFault(ca, 'ID', `has more than ${maxIdChars} characters`);
  return id;
}

export function readAnchor(entry: CaEntry): Certificate {
  const field = oneOf(entry, ['RootCertificateDER', 'RootCertificatePEM']);
  if (field.name === 'RootCertificateDER') {
    return readCertificateField(entry.ca, field.name, decodeBase64(entry.ca, field.name, field.value));
  }
  return readCertificateField(entry.ca, field.name, onlyPemBlock(entry.ca, field).bytes);
}

export function readIntermediates({ ca, members }: CaEntry): readonly Certificate[] {
  const field = 'IntermediateCertificatesDER';
  const list = members[field] ?? [];
  if (!Array.isArray(list)) throw fieldFault(ca, field, 'is no list');
  if (list.length > maxIntermediates) throw fieldFault(ca, field, `has more than ${maxIntermediates} members`);
  return list.map((value: unknown, index) => {
    const place = `${field}[${index}]`;
    if (typeof value !== 'string') throw fieldFault(ca, place, 'is no text');
    return readCertificateField(ca, place, decodeBase64(ca, place, value));
  });
}

const keyEncodings: Readonly<Record<string, PrivateKeyEncoding>> = {
  'PRIVATE KEY': 'pkcs8',
  'EC PRIVATE KEY': 'sec1',
  'RSA PRIVATE KEY': 'pkcs1',
};

export function readSigningKey(entry: CaEntry): KeyObject {
  const { ca } = entry;
  const field = oneOf(entry, ['SigningKeyPKCS8', 'SigningKeyPEM']);
  if (field.name === 'SigningKeyPKCS8') {
    return readKeyField(ca, field.name, new SecretBytes(decodeBase64(ca, field.name, field.value)), 'pkcs8');
  }
  const { label, bytes } = onlyPemBlock(ca, field);
  const encoding = keyEncodings[label];
  if (encoding === undefined) throw fieldFault(ca, field.name, 'holds no unencrypted private key');
  return readKeyField(ca, field.name, new SecretBytes(bytes), encoding);
}

/** `AddedAt` and `ActivatedAt`: RFC 3339, or absent */
export function readDate(entry: CaEntry, field: 'AddedAt' | 'ActivatedAt'): EpochMs | undefined {
  const value = text(entry, field);
  if (value === undefined) return undefined;
  const isRfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value);
  const at = isRfc3339 ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) throw fieldFault(entry.ca, field, 'is no date and time of RFC 3339');
  return epoch(at);
}

function readCertificateField(ca: string, field: string, bytes: Uint8Array): Certificate {
  try {
    return readCertificate(bytes);
  } catch (thrown) {
    if (isPrivateKey(bytes)) throw poolErrors.error('pool-ca-private-key-as-certificate', { ca, field });
    const reason = LeafgateError.from(thrown).message;
    throw poolErrors.error('pool-ca-certificate-unreadable', { ca, field, reason });
  }
}

function readKeyField(ca: string, field: string, secret: SecretBytes, encoding: PrivateKeyEncoding): KeyObject {
  try {
    return privateKeyFromDer(secret, encoding);
  } catch (thrown) {
    throw poolErrors.error('pool-ca-key-unreadable', { ca, field, reason: LeafgateError.from(thrown).message });
  }
}

type Field = { readonly name: string; readonly value: string };

/** Absent, null and empty are the same: Go writes a field that is not set in any of these ways. */
function text({ ca, members }: CaEntry, field: string): string | undefined {
  const value = members[field] ?? '';
  if (typeof value !== 'string') throw fieldFault(ca, field, 'is no text');
  return value === '' ? undefined : value;
}

function oneOf(entry: CaEntry, names: readonly [string, string]): Field {
  const given = names.flatMap((name) => {
    const value = text(entry, name);
    return value === undefined ? [] : [{ name, value }];
  });
  const [only, other] = given;
  if (only === undefined) throw fieldFault(entry.ca, names[0], `is missing, and so is ${names[1]}`);
  if (other !== undefined) throw fieldFault(entry.ca, names[0], `and ${names[1]} are both given; one must go`);
  return only;
}

function decodeBase64(ca: string, field: string, value: string): Uint8Array {
  const bytes = Buffer.from(value, 'base64');
  if (bytes.toString('base64') !== value) throw fieldFault(ca, field, 'is no base64');
  return bytes;
}

function onlyPemBlock(ca: string, { name, value }: Field): { readonly label: string; readonly bytes: Uint8Array } {
  const isForCertificate = name === 'RootCertificatePEM';
  const blocks = readPem(ca, { name, value });
  if (isForCertificate && blocks.some(({ label }) => isPrivateKeyLabel(label))) {
    throw poolErrors.error('pool-ca-private-key-as-certificate', { ca, field: name });
  }
  const [only, ...others] = blocks;
  if (only === undefined || others.length > 0)
    throw fieldFault(ca, name, `has ${blocks.length} PEM blocks, where one belongs`);
  if (isForCertificate && only.label !== 'CERTIFICATE') throw fieldFault(ca, name, 'holds no CERTIFICATE block');
  return only;
}

function readPem(ca: string, { name, value }: Field): ReturnType<typeof readPemBlocks> {
  try {
    return readPemBlocks(value, name);
  } catch (thrown) {
    throw fieldFault(ca, name, `is broken: ${LeafgateError.from(thrown).message}`);
  }
}

function fieldFault(ca: string, field: string, reason: string): LeafgateError {
  return poolErrors.error('pool-ca-field', { ca, field, reason });
}
