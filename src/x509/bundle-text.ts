// The text of a bundle is a function of the set of its certificates: one PEM form, ordered by digest. So equal sets have
// equal texts, whatever their source, and a comparison of texts never writes what is there already. Pure.
import type { Certificate, Pem } from './certificate-types.ts';
import { encodeCertificatesPem } from './pem.ts';

/** ASCII; each certificate once (by DER): the API server refuses a DER that stands there twice */
export function bundleText(certificates: readonly Certificate[]): Pem {
  return encodeCertificatesPem(distinctCertificates(certificates));
}

/** each once, ordered by SHA-256 */
export function distinctCertificates(certificates: readonly Certificate[]): readonly Certificate[] {
  const bySha256 = new Map(certificates.map((certificate) => [certificate.sha256, certificate]));
  return [...bySha256.values()].toSorted((one, other) => (one.sha256 < other.sha256 ? -1 : 1));
}
