// The roots that every gateway verifies origins with, kept as the text that its files hold: 144 parsed certificates take 4 MB
// (measured), and each round over each gateway would write another 220 KB. Pure.
import { originRoots } from '../pool/origin-roots.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { encodeCertificatesPem } from '../x509/pem.ts';

export interface CommonRoots {
  /** PEM of these roots and `more`, each once, without the gateway's `own` certificates */
  pemWith(more: readonly Certificate[], own: readonly Certificate[]): string;
}

export function createCommonRoots(certificates: readonly Certificate[]): CommonRoots {
  const pemBySha256 = new Map(
    certificates.map((certificate) => [certificate.sha256, encodeCertificatesPem([certificate])]),
  );
  const all = [...pemBySha256.values()].join('');
  return {
    pemWith: (more, own) => {
      const refused = new Set(own.map(({ sha256 }) => sha256));
      const isWhole = !own.some(({ sha256 }) => pemBySha256.has(sha256));
      const common = isWhole ? all : [...pemBySha256].map(([sha256, pem]) => (refused.has(sha256) ? '' : pem)).join('');
      const added = originRoots(more, own).filter(({ sha256 }) => !pemBySha256.has(sha256));
      return common + encodeCertificatesPem(added);
    },
  };
}
