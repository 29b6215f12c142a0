// A bundle in the form of the file that a volume asks for. Pure; must not know where it is written.
import { encodePkcs12TrustStore } from '../x509/pkcs12-trust-store.ts';
import { readPemBlocks } from '../x509/pem.ts';
import type { Pem } from '../x509/certificate-types.ts';

/** The bytes of a file, the same for the same bundle. */
export function encodeForm(form: 'PEM' | 'PKCS12', pemBundle: Pem): Uint8Array {
  switch (form) {
    case 'PEM':
      return Buffer.from(pemBundle, 'latin1');
    case 'PKCS12':
      return encodePkcs12TrustStore(certificatesOf(pemBundle));
    default:
      return form satisfies never;
  }
}

export function certificatesOf(pemBundle: Pem): readonly Uint8Array[] {
  return readPemBlocks(pemBundle, 'the bundle').map(({ bytes }) => bytes);
}
