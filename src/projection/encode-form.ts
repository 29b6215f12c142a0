// A bundle in the form of the file that a volume asks for. Pure; must not know where it is written.
import { encodePkcs12TrustStore } from '../x509/pkcs12-trust-store.ts';
import { readPemBlocks } from '../x509/pem.ts';
import type { TrustFile } from './trust-file.ts';

/** The bytes of a file, the same for the same bundle. */
export function encodeForm(form: 'PEM' | 'PKCS12', file: TrustFile): Uint8Array {
  switch (form) {
    case 'PEM':
      return Buffer.from(file.pemBundle, 'latin1');
    case 'PKCS12':
      return encodePkcs12TrustStore(certificatesOf(file));
    default:
      return form satisfies never;
  }
}

export function certificatesOf({ path, pemBundle }: TrustFile): readonly Uint8Array[] {
  return readPemBlocks(pemBundle, path).map(({ bytes }) => bytes);
}
