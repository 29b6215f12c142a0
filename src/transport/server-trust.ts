// A server trust: the anchors and the server name that one peer is verified with, parsed once and never changed after.
// Whoever holds one can neither change it through what was parsed nor through what it gives out. Must not know sockets.
import { createHash } from 'node:crypto';
import type { EpochMs } from '../clock.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { encodeCertificatesPem, parseCertificateBundle } from '../x509/pem.ts';
import { parseServerName, serverNameText } from './server-name.ts';
import type { ServerName } from './server-name.ts';
import { transportErrors } from './transport-errors.ts';

/** what people and checks need to know of an anchor */
export type AnchorSummary = {
  readonly subject: string;
  /** lower-case hex of the certificate's SHA-256 */
  readonly sha256: string;
  readonly notAfter: EpochMs;
  /** a CA, or issued by itself: OpenSSL verifies with nothing else (partial chains stay off) */
  readonly isAnchor: boolean;
};

export type ServerTrustInput = {
  /** PEM: CERTIFICATE blocks and comments, nothing else */
  readonly bundle: string | Uint8Array;
  /** named in errors: a path, or what a person would call it */
  readonly source: string;
  /** replaces the URL's host in SNI and in verification */
  readonly serverName?: string;
};

export class ServerTrust {
  readonly source: string;
  /** undefined: the URL's host */
  readonly serverName: ServerName | undefined;
  /** lower-case hex over the set of anchors: order, duplicates and comments of the file do not matter */
  readonly sha256: string;
  /** every anchor once, in the order of their SHA-256 */
  readonly anchors: readonly AnchorSummary[];
  readonly #anchorsPem: string;

  constructor(source: string, certificates: readonly Certificate[], serverName: ServerName | undefined) {
    const anchors = canonicalSet(certificates);
    this.source = source;
    this.serverName = serverName === undefined ? undefined : copyOfName(serverName);
    this.sha256 = setDigest(anchors);
    this.anchors = Object.freeze(anchors.map(summaryOf));
    this.#anchorsPem = encodeCertificatesPem(anchors);
    Object.freeze(this);
  }

  /** the anchors as one PEM text, as TLS libraries take them */
  anchorsPem(): string {
    return this.#anchorsPem;
  }
}

/**
 * Throws the errors of x509's strict reading (a private key anywhere, a broken block, a certificate cut off, trailing
 * data, nothing at all, too much) and `trust-server-name`. Rule: coder/coder-k8s#275.
 */
export function parseServerTrust(input: ServerTrustInput): ServerTrust {
  const certificates = parseCertificateBundle(input.bundle, input.source);
  return new ServerTrust(input.source, certificates, nameOf(input.serverName));
}

/** The name that a peer at `host` must prove, by the trust's own name or else by the host. */
export function nameToVerify(trust: ServerTrust, host: ServerName): ServerName {
  return trust.serverName ?? host;
}

/**
 * What tells two trusts apart: SHA-256 over the anchors and the name to verify. Two equal keys may share a connection,
 * two different ones never do. Lower-case hex.
 */
export function trustKey(trust: ServerTrust, host: ServerName): string {
  // the digest has a fixed length and a name no line feed, so no two pairs hash the same text
  return createHash('sha256')
    .update(`${trust.sha256}\n${serverNameText(nameToVerify(trust, host))}`)
    .digest('hex');
}

function nameOf(text: string | undefined): ServerName | undefined {
  if (text === undefined) return undefined;
  const name = parseServerName(text);
  if (name === undefined) throw transportErrors.error('trust-server-name', { name: text });
  return name;
}

function copyOfName(name: ServerName): ServerName {
  if (name.kind === 'dns') return Object.freeze({ kind: 'dns', host: name.host });
  const { text, octets } = name.address;
  return Object.freeze({ kind: 'ip', address: { text, octets: Uint8Array.from(octets) } });
}

function canonicalSet(certificates: readonly Certificate[]): readonly Certificate[] {
  const byDigest = new Map(certificates.map((certificate) => [certificate.sha256, certificate]));
  return [...byDigest.values()].sort((one, other) => (one.sha256 < other.sha256 ? -1 : 1));
}

function setDigest(anchors: readonly Certificate[]): string {
  const hash = createHash('sha256');
  for (const anchor of anchors) hash.update(Buffer.from(anchor.sha256, 'hex'));
  return hash.digest('hex');
}

function summaryOf(certificate: Certificate): AnchorSummary {
  const { subject, sha256, notAfter, basicConstraints } = certificate;
  const isSelfIssued = Buffer.compare(certificate.subjectDer, certificate.issuerDer) === 0;
  return Object.freeze({ subject, sha256, notAfter, isAnchor: basicConstraints?.isCa === true || isSelfIssued });
}
