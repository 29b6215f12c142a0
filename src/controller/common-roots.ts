// The roots that every gateway verifies origins with, kept as the text that its files hold: 144 parsed certificates take 4 MB
// (measured), and each round over each gateway would write another 220 KB. Pure.
import { originRoots, publicKeyDigest } from '../pool/origin-roots.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { encodeCertificatesPem } from '../x509/pem.ts';

export interface CommonRoots {
  /** PEM of these roots and `more`, each once, without the gateway's `own` certificates */
  pemWith(more: readonly Certificate[], own: readonly Certificate[]): string;
}

export function createCommonRoots(certificates: readonly Certificate[]): CommonRoots {
  const known = new Map(
    certificates.map((certificate) => {
      const [pem, key] = [encodeCertificatesPem([certificate]), publicKeyDigest(certificate)];
      return [certificate.sha256, { pem, key }];
    }),
  );
  const keys = new Set([...known.values()].map(({ key }) => key));
  const all = [...known.values()].map(({ pem }) => pem).join('');
  return {
    pemWith: (more, own) => {
      const refused = new Set(own.map(publicKeyDigest));
      const common = [...refused].every((key) => !keys.has(key))
        ? all
        : [...known.values()].map(({ pem, key }) => (refused.has(key) ? '' : pem)).join('');
      const added = originRoots(more, own).filter(({ sha256 }) => !known.has(sha256));
      return common + encodeCertificatesPem(added);
    },
  };
}
