// Judges the time a CA has left, and whether a CA that signs may be of Ed25519. Pure: the time is an argument.
import type { DurationMs, EpochMs } from '../clock.ts';
import type { LeafgateError } from '../errors.ts';
import type { Link } from './examine-ca.ts';
import { poolErrors } from './pool-errors.ts';

export type SigningTerms = {
  readonly now: EpochMs;
  readonly allowEd25519: boolean;
  /** a CA that ends sooner does not sign */
  readonly shortestLeafMs: DurationMs;
};

/** Holds for every CA: an expired one is of no use, not even as an anchor. */
export function examineExpiry(ca: string, chain: readonly Link[], now: EpochMs): readonly LeafgateError[] {
  return chain.flatMap(({ certificate, role }) => {
    // notAfter is the last second of validity (RFC 5280 4.1.2.5), whole
    if (now < certificate.notAfter + 1000) return [];
    const notAfter = new Date(certificate.notAfter).toISOString();
    return [poolErrors.error('pool-ca-expired', { ca, certificate: role, notAfter })];
  });
}

/** Holds for the active CA only: one that waits may be too young, and one that retires too old, to sign. */
export function examineSigner(ca: string, chain: readonly Link[], terms: SigningTerms): readonly LeafgateError[] {
  const faults: LeafgateError[] = [];
  for (const { certificate, role } of chain) {
    if (terms.now < certificate.notBefore) {
      const notBefore = new Date(certificate.notBefore).toISOString();
      faults.push(poolErrors.error('pool-ca-not-yet-valid', { ca, certificate: role, notBefore }));
    }
    if (certificate.keyKind === 'Ed25519' && !terms.allowEd25519) {
      faults.push(poolErrors.error('pool-ca-ed25519', { ca, certificate: role }));
    }
  }
  const end = Math.min(...chain.map(({ certificate }) => certificate.notAfter));
  const hasExpired = terms.now >= end + 1000;
  if (!hasExpired && end - terms.now < terms.shortestLeafMs) {
    faults.push(poolErrors.error('pool-ca-ends-too-soon', { ca, notAfter: new Date(end).toISOString() }));
  }
  return faults;
}
