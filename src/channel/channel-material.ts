// What the server shows and what it verifies its clients with: certificate, key and CAs, judged as one set before anything
// of it is used. All faults are reported, not the first. Pure.
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { EpochMs } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { createProblems } from '../problems.ts';
import { SecretBytes } from '../secret-bytes.ts';
import { systemReason } from '../system-error.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { examineCredential, examineRoots, type NamedText } from '../x509/examine-credential.ts';
import { encodeCertificatesPem, parseCertificateBundle } from '../x509/pem.ts';
import { channelErrors } from './channel-errors.ts';

export type ChannelTexts = { readonly certificate: NamedText; readonly key: NamedText; readonly roots: NamedText };

export type ChannelTerms = {
  /** what clients ask for; undefined: the name is not checked */
  readonly serverName: string | undefined;
  readonly now: EpochMs;
};

export type ChannelMaterial = {
  readonly certificate: Certificate;
  /** leaf first, then its chain, as it was given */
  readonly chainPem: Uint8Array;
  readonly key: SecretBytes;
  readonly roots: readonly Certificate[];
};

export function examineChannelMaterial(texts: ChannelTexts, { serverName, now }: ChannelTerms): ChannelMaterial {
  const { attempt, throwAny } = createProblems();
  const { source } = texts.certificate;
  const certificate = attempt(() => examineCredential(texts, { purpose: 'serverAuth', now }));
  const shown = certificate ?? firstReadable(texts.certificate);
  if (shown !== undefined && serverName !== undefined) attempt(() => checkName(shown, serverName, source));
  const roots = attempt(() => examineRoots(texts.roots, now));
  if (certificate !== undefined) attempt(() => checkChainSize(texts.certificate));
  if (roots !== undefined) attempt(() => checkNamesSize(roots, texts.roots.source));
  throwAny();
  if (certificate === undefined || roots === undefined) throw LeafgateError.from('a fault was lost');
  const material = { certificate, chainPem: texts.certificate.text, key: new SecretBytes(texts.key.text), roots };
  checkUsable(material, source);
  return material;
}

/** For the TLS server; what OpenSSL gets is what was judged. */
export function contextOptions({ chainPem, key, roots }: ChannelMaterial): SecureContextOptions {
  return { cert: Buffer.from(chainPem), key: Buffer.from(key.reveal()), ca: encodeCertificatesPem(roots) };
}

/** when the first of the CAs that are valid now ends; clients of that one can then connect no more */
export function rootsEndAt({ roots }: Pick<ChannelMaterial, 'roots'>, now: EpochMs): EpochMs | undefined {
  const ends = roots.map(({ notAfter }) => notAfter).filter((end) => end >= now);
  return ends.toSorted((one, other) => one - other)[0];
}

/** What else is wrong with a certificate that is refused anyway; one that cannot be read has been told already. */
function firstReadable({ text, source }: NamedText): Certificate | undefined {
  try {
    return parseCertificateBundle(text, source, 'anywhere')[0];
  } catch {
    return undefined;
  }
}

/** As Envoy compares: a wildcard stands for one whole label, and a common name for nothing (RFC 9525 6.3). */
function checkName(certificate: Certificate, name: string, source: string): void {
  if (certificate.native.checkHost(name, { subject: 'never', partialWildcards: false }) !== undefined) return;
  const names = (certificate.subjectAltName?.names ?? []).flatMap((one) => (one.kind === 'dns' ? [one.text] : []));
  throw channelErrors.error('channel-wrong-name', { source, names: names.join(', ') || 'no DNS name', name });
}

/**
 * The names of the CAs go to each client. All extensions of that message have 64 KiB together (RFC 8446 4.3.2), and where they
 * do not fit OpenSSL ends every handshake.
 */
const maxNamesBytes = 61_440;
/** clients that are built on OpenSSL or BoringSSL stop at 100 KiB of certificates, Go at 256 KiB: far less is needed */
const maxChainBytes = 65_536;
/** around each name, and around each certificate */
const [nameFrameBytes, certificateFrameBytes] = [2, 5];

function checkNamesSize(roots: readonly Certificate[], source: string): void {
  const bytes = roots.reduce((sum, { subjectDer }) => sum + subjectDer.length + nameFrameBytes, 0);
  if (bytes <= maxNamesBytes) return;
  throw channelErrors.error('channel-too-large', { source, bytes, what: 'names of CAs', maxBytes: maxNamesBytes });
}

function checkChainSize({ text, source }: NamedText): void {
  const chain = parseCertificateBundle(text, source, 'anywhere');
  const bytes = chain.reduce((sum, { der }) => sum + der.length + certificateFrameBytes, 0);
  if (bytes <= maxChainBytes) return;
  throw channelErrors.error('channel-too-large', { source, bytes, what: 'certificates', maxBytes: maxChainBytes });
}

/** what OpenSSL does not take although it can be read, such as a CA that is signed with SHA-1 */
function checkUsable(material: ChannelMaterial, source: string): void {
  try {
    createSecureContext(contextOptions(material));
  } catch (thrown) {
    throw channelErrors.error('channel-unusable', { source, reason: systemReason(thrown) }, thrown);
  }
}
