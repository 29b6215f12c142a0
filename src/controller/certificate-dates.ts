// When a judgement may turn out otherwise although nothing changes that is followed: a certificate begins, or ends. Pure; must not
// know what is judged.
import { epoch, type EpochMs } from '../clock.ts';
import type { Certificate } from '../x509/certificate-types.ts';

/** from when a certificate is valid, and from when no more: notAfter is the last second of it, whole (RFC 5280 4.1.2.5) */
export function datesOf(certificates: readonly Certificate[]): readonly EpochMs[] {
  return certificates.flatMap(({ notBefore, notAfter }) => [notBefore, epoch(notAfter + 1000)]);
}

/** undefined: all of them have passed */
export function earliestAfter(now: EpochMs, dates: readonly EpochMs[]): EpochMs | undefined {
  const coming = dates.filter((date) => date > now);
  return coming.length === 0 ? undefined : epoch(Math.min(...coming));
}
