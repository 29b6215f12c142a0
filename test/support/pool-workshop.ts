// Writes pools for tests as other systems write them: JSON of fields that a test may bend one by one.
import type { KeyObject } from 'node:crypto';
import { minutes } from '../../src/clock.ts';
import type { PoolTerms } from '../../src/pool/examine-pool.ts';
import type { Certificate } from '../../src/x509/certificate-types.ts';
import { makeCa, testNow } from './ca-workshop.ts';
import type { MadeCa } from './ca-workshop.ts';

export type PoolCaFields = { readonly [member: string]: unknown };

export function caFields(id: string, ca: MadeCa = makeCa(), intermediates: readonly Certificate[] = []): PoolCaFields {
  return {
    ID: id,
    SigningKeyPKCS8: pkcs8(ca.key),
    RootCertificateDER: base64(ca.certificate.der),
    ...(intermediates.length === 0 ? {} : { IntermediateCertificatesDER: intermediates.map(({ der }) => base64(der)) }),
  };
}

/** a root, the intermediates below it from the top down, and the fields that hold them; the last one signs */
export function chainFields(id: string, root: MadeCa, ...below: readonly MadeCa[]): PoolCaFields {
  const signer = below.at(-1) ?? root;
  return {
    ...caFields(
      id,
      root,
      below.toReversed().map(({ certificate }) => certificate),
    ),
    SigningKeyPKCS8: pkcs8(signer.key),
  };
}

export function poolBytes(cas: readonly unknown[], active = ''): Uint8Array {
  return Buffer.from(JSON.stringify({ CAs: cas, ActiveForSigning: active }));
}

export function testTerms(terms: Partial<PoolTerms> = {}): PoolTerms {
  return { source: 'pool.json', now: testNow, allowEd25519: false, shortestLeafMs: minutes(2), ...terms };
}

export function pkcs8(key: KeyObject): string {
  return base64(key.export({ format: 'der', type: 'pkcs8' }));
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
