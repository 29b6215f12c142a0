// What is told of a verified TLS connection: version, cipher and the leaf of the peer, as plain data that may be kept,
// printed and compared. Must not know how the connection was made.
import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';

export type LeafFacts = {
  /** one line, most specific part last; empty for an empty subject */
  readonly subject: string;
  readonly issuer: string;
  /** as OpenSSL writes them: `DNS:api.example.com`, `IP Address:192.0.2.7` */
  readonly san: readonly string[];
  /** lower-case hex */
  readonly serial: string;
  /** RFC 3339, UTC */
  readonly notBefore: string;
  readonly notAfter: string;
  /** lower-case hex of the DER's SHA-256 */
  readonly sha256: string;
};

export type TlsSession = {
  /** `TLSv1.2` or `TLSv1.3` */
  readonly version: string;
  readonly cipher?: string;
  readonly leaf: LeafFacts;
};

function leafFacts(certificate: X509Certificate): LeafFacts {
  return {
    subject: onOneLine(certificate.subject),
    issuer: onOneLine(certificate.issuer),
    san: (certificate.subjectAltName ?? '').split(', ').filter((entry) => entry !== ''),
    serial: certificate.serialNumber.toLowerCase(),
    notBefore: certificate.validFromDate.toISOString(),
    notAfter: certificate.validToDate.toISOString(),
    sha256: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
  };
}

/** Undefined when the peer has shown no certificate, or none that can be read. */
export function presentedLeaf(socket: TLSSocket): LeafFacts | undefined {
  try {
    const certificate = socket.getPeerX509Certificate();
    return certificate === undefined ? undefined : leafFacts(certificate);
  } catch {
    // an unreadable certificate fails verification anyway; this is only what is told about it
    return undefined;
  }
}

/** Undefined when the handshake has not ended or the peer's certificate cannot be read. */
export function tlsSessionOf(socket: TLSSocket): TlsSession | undefined {
  const version = socket.getProtocol();
  const leaf = presentedLeaf(socket);
  if (version === null || leaf === undefined) return undefined;
  return { version, cipher: socket.getCipher().name, leaf };
}

function onOneLine(name: string | undefined): string {
  return (name ?? '').split('\n').join(', ');
}
