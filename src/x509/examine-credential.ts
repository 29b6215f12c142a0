// Judges what a TLS peer shows and what peers are verified with before Envoy gets to see it: Envoy takes an expired
// certificate without a word and says little about what it cannot read (measured). All faults are reported, not the first.
// Pure; no message ever carries a key.
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { EpochMs } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { createProblems } from '../problems.ts';
import { SecretBytes } from '../secret-bytes.ts';
import type { Certificate } from './certificate-types.ts';
import { objectIds } from './object-ids.ts';
import { isPrivateKeyLabel, parseCertificateBundle, readPemBlocks } from './pem.ts';
import { privateKeyFromDer, type PrivateKeyEncoding } from './private-key.ts';
import { x509Errors } from './x509-errors.ts';

/** the content of a file, and what errors call it */
export type NamedText = { readonly text: Uint8Array; readonly source: string };

export type CredentialTexts = { readonly certificate: NamedText; readonly key: NamedText };

export type CredentialTerms = { readonly purpose: 'serverAuth' | 'clientAuth'; readonly now: EpochMs };

/** The certificate that is shown. Throws one error with every fault that Envoy, or the peer, would stumble over. */
export function examineCredential(texts: CredentialTexts, terms: CredentialTerms): Certificate {
  const { attempt, keep, throwAny } = createProblems();
  const { source } = texts.certificate;
  const certificate = attempt(() => parseCertificateBundle(texts.certificate.text, source, 'anywhere'))?.[0];
  const key = attempt(() => readPrivateKey(texts.key));
  if (certificate !== undefined) keep(certificateFaults(certificate, source, terms));
  if (certificate !== undefined && key !== undefined && !belongs(key, certificate))
    keep([x509Errors.error('credential-key-mismatch', { source, keySource: texts.key.source })]);
  throwAny();
  // both were read when nothing was thrown
  if (certificate === undefined) throw x509Errors.error('pem-empty', { source });
  return certificate;
}

/** The roots of a file; one CA among them that is valid now must be. Throws as the PEM reader does, or `roots-no-ca`. */
export function examineRoots({ text, source }: NamedText, now: EpochMs): readonly Certificate[] {
  const roots = parseCertificateBundle(text, source, 'anywhere');
  const isUsable = ({ basicConstraints, version, notBefore, notAfter }: Certificate): boolean =>
    (version === 1 || basicConstraints?.isCa === true) && notBefore <= now && now <= notAfter;
  if (!roots.some(isUsable)) throw x509Errors.error('roots-no-ca', { source });
  return roots;
}

function certificateFaults(
  certificate: Certificate,
  source: string,
  { purpose, now }: CredentialTerms,
): readonly LeafgateError[] {
  const { notBefore, notAfter, extendedKeyUsage, keyKind, rsaBits } = certificate;
  const faults: LeafgateError[] = [];
  if (now > notAfter) faults.push(x509Errors.error('credential-expired', { source, until: timeText(notAfter) }));
  if (now < notBefore) faults.push(x509Errors.error('credential-not-yet-valid', { source, from: timeText(notBefore) }));
  const { anyExtendedKeyUsage, [purpose]: wanted } = objectIds;
  if (extendedKeyUsage?.some((id) => id === wanted || id === anyExtendedKeyUsage) === false)
    faults.push(x509Errors.error('credential-wrong-purpose', { source, purpose }));
  // Envoy 1.40 takes all the others (tried)
  if (keyKind === 'other' || (keyKind === 'RSA' && rsaBits < 2048)) {
    const kind = keyKind === 'RSA' ? `RSA of ${rsaBits} bits` : 'unsupported';
    faults.push(x509Errors.error('credential-key-kind', { source, kind }));
  }
  return faults;
}

function timeText(at: EpochMs): string {
  return new Date(at).toISOString();
}

function belongs(key: KeyObject, { native }: Certificate): boolean {
  try {
    return createPublicKey(key).equals(native.publicKey);
  } catch {
    // a key of a kind that this OpenSSL does not know
    return false;
  }
}

const encodings: Readonly<Record<string, PrivateKeyEncoding>> = {
  'PRIVATE KEY': 'pkcs8',
  'RSA PRIVATE KEY': 'pkcs1',
  'EC PRIVATE KEY': 'sec1',
};

function readPrivateKey({ text, source }: NamedText): KeyObject {
  const keys = readPemBlocks(text, source, 'anywhere').filter(({ label }) => isPrivateKeyLabel(label));
  const [block, second] = keys;
  if (block === undefined || second !== undefined)
    throw x509Errors.error('credential-key-missing', { source, count: keys.length });
  if (block.label === 'ENCRYPTED PRIVATE KEY') throw x509Errors.error('credential-key-encrypted', { source });
  const encoding = encodings[block.label];
  if (encoding === undefined)
    throw x509Errors.error('credential-key-unreadable', { source, reason: `a block of the kind ${block.label}` });
  try {
    return privateKeyFromDer(new SecretBytes(block.bytes), encoding);
  } catch (thrown) {
    throw x509Errors.error('credential-key-unreadable', { source, reason: LeafgateError.from(thrown).message }, thrown);
  }
}
