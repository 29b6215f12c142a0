// What a person may see of a pool: each CA without its key. Pure.
import type { EpochMs } from '../clock.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import type { Pool, PoolCa } from './pool-types.ts';

export type PoolDescription = {
  readonly sha256: string;
  readonly cas: readonly CaDescription[];
  /** CAs that were left out, in words */
  readonly faults: readonly { readonly code: string; readonly message: string; readonly remedy: string }[];
};

export type CaDescription = {
  readonly id: string;
  readonly isActive: boolean;
  readonly subject: string;
  /** of the certificate that signs leaves: `P-256`, `RSA 2048` */
  readonly key: string;
  /** what the SDS versions of its leaves start with */
  readonly keyIdPrefix: string;
  /** SHA-256 of the anchor, lower-case hex */
  readonly anchorSha256: string;
  /** RFC 3339, as every time for programs */
  readonly notBefore: string;
  /** the earliest end of the chain */
  readonly notAfter: string;
  /** whole days until `notAfter`; negative once it is past */
  readonly daysLeft: number;
  readonly intermediates: number;
  readonly addedAt?: string;
  readonly activatedAt?: string;
};

export function describePool(pool: Pool, now: EpochMs): PoolDescription {
  return {
    sha256: pool.sha256,
    cas: pool.cas.map((ca) => describeCa(ca, { isActive: ca === pool.active, now })),
    faults: pool.faults.map(({ code, message, remedy }) => ({ code, message, remedy })),
  };
}

function describeCa(
  ca: PoolCa,
  { isActive, now }: { readonly isActive: boolean; readonly now: EpochMs },
): CaDescription {
  const { anchor, intermediates, addedAt, activatedAt } = ca;
  const chain = [...intermediates, anchor];
  const last = chain.reduce((earliest, certificate) =>
    certificate.notAfter < earliest.notAfter ? certificate : earliest,
  );
  const first = chain.reduce((latest, certificate) =>
    certificate.notBefore > latest.notBefore ? certificate : latest,
  );
  return {
    id: ca.id,
    isActive,
    subject: anchor.subject,
    key: keyText(intermediates[0] ?? anchor),
    keyIdPrefix: ca.keyIdPrefix,
    anchorSha256: anchor.sha256,
    notBefore: timeText(first.notBefore),
    notAfter: timeText(last.notAfter),
    daysLeft: Math.floor((last.notAfter - now) / 86_400_000),
    intermediates: intermediates.length,
    ...(addedAt === undefined ? {} : { addedAt: timeText(addedAt) }),
    ...(activatedAt === undefined ? {} : { activatedAt: timeText(activatedAt) }),
  };
}

function timeText(at: EpochMs): string {
  return new Date(at).toISOString();
}

function keyText({ keyKind, rsaBits }: Certificate): string {
  return keyKind === 'RSA' ? `RSA ${rsaBits}` : keyKind;
}
