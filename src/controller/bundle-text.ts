// What stands in spec.trustBundle of a ClusterTrustBundle: how large it may be, its certificates, its digest. Pure.
import { createHash } from 'node:crypto';
import type { Certificate } from '../x509/certificate-types.ts';
import { parseCertificateBundle } from '../x509/pem.ts';

/** the API server's limit of spec.trustBundle, in bytes */
export const maxBundleBytes = 1024 * 1024;

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
