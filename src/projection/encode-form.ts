// A bundle in the form that a volume asks for. Pure; must not know where it is written.
import type { TrustForm } from '../settings/trust-volume.ts';
import { encodePkcs12TrustStore } from '../x509/pkcs12-trust-store.ts';
import { readPemBlocks } from '../x509/pem.ts';
import type { TrustFile } from './trust-file.ts';
import { volumeErrors } from './volume-errors.ts';

/** The bytes of a file, the same for the same bundle. */
export function encodeForm({ path, pemBundle, form }: TrustFile & { readonly form: TrustForm }): Uint8Array {
  switch (form) {
    case 'PEM':
      return Buffer.from(pemBundle, 'latin1');
    case 'PKCS12':
      return encodePkcs12TrustStore(readPemBlocks(pemBundle, path).map(({ bytes }) => bytes));
    case 'NSS':
      throw volumeErrors.error('volume-form-unsupported', { path, form });
    default:
      return form satisfies never;
  }
}
