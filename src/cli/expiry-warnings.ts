// Says in the log that a certificate will end, ahead of time: 30 days, 7 days and a day before, each once for a certificate, and
// never before three quarters of its life are over, since what lives for a day is renewed every day.
import { between, days, type Clock } from '../clock.ts';
import type { Log } from '../observe/log.ts';
import type { Certificate } from '../x509/certificate-types.ts';

const ahead = [days(30), days(7), days(1)];
const shareOfLife = 1 / 4;

export type ExpiryWarnings = {
  /** of what is in force now; others are forgotten */
  look(certificates: readonly Certificate[]): void;
};

type WarningParts = {
  readonly clock: Clock;
  readonly log: Log;
  readonly path: string;
  /** that one of its certificates will end */
  readonly sentence: string;
};

export function createExpiryWarnings({ clock, log, path, sentence }: WarningParts): ExpiryWarnings {
  /** how many of the warnings each has had */
  let told = new Map<string, number>();
  return {
    look: (certificates) => {
      const now = clock.now();
      const next = new Map<string, number>();
      for (const certificate of certificates) {
        const due = dueWarnings(certificate, now);
        const before = told.get(certificate.sha256) ?? 0;
        next.set(certificate.sha256, Math.max(due, before));
        if (due <= before || now > certificate.notAfter) continue;
        const until = new Date(certificate.notAfter).toISOString();
        log.warn(sentence, {
          ...{ path, serial: certificate.serialHex, detail: `${certificate.subject}, valid until ${until}` },
        });
      }
      told = next;
    },
  };
}

function dueWarnings({ notBefore, notAfter }: Certificate, now: Certificate['notAfter']): number {
  const left = between(now, notAfter);
  const mostAhead = between(notBefore, notAfter) * shareOfLife;
  return ahead.filter((span) => left <= Math.min(span, mostAhead)).length;
}
