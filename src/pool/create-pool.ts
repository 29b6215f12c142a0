// Makes a pool with one new CA, active. The JSON is what other systems read too (design section 4); AddedAt and
// ActivatedAt are ours, and others ignore them. Time and randomness are arguments.
import { days, type EpochMs } from '../clock.ts';
import { SecretBytes } from '../secret-bytes.ts';
import { createCa, generationOf, type CaKeyKind } from '../x509/create-ca.ts';

export type PoolRequest = {
  readonly now: EpochMs;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly keyKind?: CaKeyKind;
};

const caLifetime = days(365);

/** The bytes of the pool, private key inside. The CA's ID starts with what its leaves' SDS versions start with, and its subject ends with it. */
export function createPool({ now, randomBytes, keyKind }: PoolRequest): SecretBytes {
  const ca = createCa({ now, lifetimeMs: caLifetime, randomBytes, ...(keyKind === undefined ? {} : { keyKind }) });
  const at = new Date(now).toISOString();
  const id = `ca-${generationOf(ca.certificate.subjectKeyId ?? new Uint8Array())}`;
  const document = {
    CAs: [
      {
        ID: id,
        SigningKeyPKCS8: base64(ca.privateKeyPkcs8.reveal()),
        RootCertificateDER: base64(ca.certificate.der),
        AddedAt: at,
        ActivatedAt: at,
      },
    ],
    ActiveForSigning: id,
  };
  return new SecretBytes(Buffer.from(`${JSON.stringify(document)}\n`, 'utf8'));
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
