// The key of leaves: P-256, made through ECDH and spliced as raw bytes into the two fixed encodings that minting needs.
// That takes 37 to 49 µs; exporting key objects takes 106 to 159 (measured on Node 24). One key serves many leaves, for
// at most one leaf lifetime.
import { createECDH } from 'node:crypto';
import type { EpochMs } from '../clock.ts';
import { SecretBytes } from '../secret-bytes.ts';
import type { LeafKey } from './certificate-types.ts';
import { parseDer } from './der-reader.ts';
import { encodePem } from './pem.ts';

/** SubjectPublicKeyInfo of an uncompressed P-256 point, up to the point (RFC 5480 2) */
const spkiPrefix = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex');
/** PKCS#8 with an ECPrivateKey inside, up to the private octets (RFC 5958 2, RFC 5915 3) */
const pkcs8Prefix = Buffer.from('308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420', 'hex');
/** between the private octets and the point: [1] BIT STRING */
const pkcs8Middle = Buffer.from('a144034200', 'hex');

const privateOctets = 32;

export function createLeafKey(now: EpochMs): LeafKey {
  const ecdh = createECDH('prime256v1');
  const point = ecdh.generateKeys();
  const scalar = ecdh.getPrivateKey();
  // Node gives a scalar with leading zeros in fewer octets
  const padding = Buffer.alloc(privateOctets - scalar.length);
  const pkcs8 = Buffer.concat([pkcs8Prefix, padding, scalar, pkcs8Middle, point]);
  return {
    spkiDer: parseDer(Buffer.concat([spkiPrefix, point])),
    privateKeyPem: new SecretBytes(Buffer.from(encodePem('PRIVATE KEY', pkcs8), 'latin1')),
    createdAt: now,
  };
}
