// How a CA key signs: the digest, the AlgorithmIdentifier exactly as each algorithm wants it, and whether a signature
// is quick enough to be made on the event loop. It must not know what is signed.
import { sign, type KeyObject } from 'node:crypto';
import { encodeAsn1, nullValue, objectId, sequence } from './forge-asn1.ts';
import { objectIds } from './object-ids.ts';
import { keyKindOf } from './read-certificate.ts';
import { x509Errors } from './x509-errors.ts';

export type SignatureScheme = {
  /** null: the algorithm hashes by itself (Ed25519) */
  readonly digest: 'sha256' | 'sha384' | null;
  /** AlgorithmIdentifier; parameters NULL for RSA (RFC 4055 5), absent for ECDSA (RFC 5758 3.2) and Ed25519 (RFC 8410 3) */
  readonly identifierDer: Uint8Array;
  /** P-256 only: 25 µs. P-384 takes about 1 ms, RSA-4096 several (measured): those go to the thread pool. */
  readonly isQuick: boolean;
};

/** Throws `signing-key-unsupported`. */
export function signatureSchemeOf(key: KeyObject): SignatureScheme {
  const { keyKind, rsaBits } = keyKindOf(key);
  switch (keyKind) {
    case 'P-256':
      return { digest: 'sha256', identifierDer: identifier(objectIds.ecdsaWithSha256), isQuick: true };
    case 'P-384':
      return { digest: 'sha384', identifierDer: identifier(objectIds.ecdsaWithSha384), isQuick: false };
    case 'RSA':
      if (rsaBits < 2048 || rsaBits > 4096)
        throw x509Errors.error('signing-key-unsupported', { kind: `RSA ${rsaBits} bit` });
      return { digest: 'sha256', identifierDer: rsaIdentifier(), isQuick: false };
    case 'Ed25519':
      return { digest: null, identifierDer: identifier(objectIds.ed25519), isQuick: false };
    case 'P-521':
    case 'other':
      throw x509Errors.error('signing-key-unsupported', { kind: keyKind });
    default:
      return keyKind satisfies never;
  }
}

function identifier(id: string): Uint8Array {
  return encodeAsn1(sequence(objectId(id)));
}

function rsaIdentifier(): Uint8Array {
  return encodeAsn1(sequence(objectId(objectIds.sha256WithRsa), nullValue()));
}

export function signSync(scheme: SignatureScheme, key: KeyObject, bytes: Uint8Array): Uint8Array {
  return sign(scheme.digest, bytes, key);
}

/** signs on libuv's thread pool */
export function signOffLoop(scheme: SignatureScheme, key: KeyObject, bytes: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    sign(scheme.digest, bytes, key, (error, signature) => {
      if (error === null) resolve(signature);
      else reject(error);
    });
  });
}
