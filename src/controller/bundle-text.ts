// The text of a bundle is a function of the set of its anchors: one PEM form, ordered by digest. So equal sets have equal
// texts, whatever the order of the pool, and a comparison of texts never writes what is there already. Pure.
import { createHash } from 'node:crypto';
import type { Certificate, Pem } from '../x509/certificate-types.ts';
import { encodeCertificatesPem, parseCertificateBundle } from '../x509/pem.ts';

/** the API server's limit of spec.trustBundle, in bytes */
export const maxBundleBytes = 1024 * 1024;

/** ASCII; the API server refuses a DER that stands there twice, so each is written once */
export function bundleText(anchors: readonly Certificate[]): Pem {
  const distinct = new Map(anchors.map((anchor) => [anchor.sha256, anchor]));
  return encodeCertificatesPem([...distinct.values()].toSorted(byDigest));
}

/** The certificates of a text that stands in the API; none when any of it is not as the API server lets it be written. */
export function readBundleText(text: string): readonly Certificate[] {
  try {
    return parseCertificateBundle(text, 'spec.trustBundle', 'anywhere');
  } catch {
    return [];
  }
}

/** lower-case hex SHA-256 of the text, as `sha256sum` has it of `spec.trustBundle` */
export function bundleDigest(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

function byDigest(one: Certificate, other: Certificate): number {
  return one.sha256 < other.sha256 ? -1 : 1;
}
