// Reads a minted leaf back and holds it against all that design section 4 promises of it, signature included. The minter
// runs it on the first leaf of each CA and key and on a sample after that, since encoding skips the check that a library
// would make each time (it costs more than the signature).
import { createPublicKey } from 'node:crypto';
import type { ParsedName } from '../names/name-types.ts';
import type { Certificate, Der, GeneralName, Signer } from './certificate-types.ts';
import { objectIds } from './object-ids.ts';
import { readCertificate } from './read-certificate.ts';
import { x509Errors } from './x509-errors.ts';

type LeafName = Exclude<ParsedName, { readonly kind: 'refused' }>;

/** id and criticality of all extensions, in order */
const expectedExtensions = [
  `${objectIds.keyUsage} critical`,
  objectIds.extendedKeyUsage,
  `${objectIds.basicConstraints} critical`,
  objectIds.authorityKeyId,
  objectIds.subjectAltName,
].join(', ');

/** Throws `leaf-check-failed` with the first promise that is broken, `certificate-unreadable` when it is no certificate. */
export function checkLeaf(leafDer: Der, signer: Signer, name: LeafName): void {
  const leaf = readCertificate(leafDer);
  const failed = promises(leaf, signer, name).find(([, isKept]) => !isKept());
  if (failed !== undefined) throw x509Errors.error('leaf-check-failed', { what: failed[0] });
}

function promises(leaf: Certificate, signer: Signer, name: LeafName): readonly (readonly [string, () => boolean])[] {
  const ca = signer.certificate;
  return [
    ['it is of version 3', () => leaf.version === 3],
    ['its serial is positive and of 16 octets', () => /^[0-7][0-9a-f]{31}$/.test(leaf.serialHex)],
    ['its subject repeats its serial', () => leaf.subject === `serialNumber=${leaf.serialHex}`],
    ['its issuer is the subject of the CA, byte for byte', () => equal(leaf.issuerDer, ca.subjectDer)],
    ['its authority key id is the subject key id of the CA', () => equal(leaf.authorityKeyId, ca.subjectKeyId)],
    ['it has exactly the extensions of a leaf', () => listExtensions(leaf) === expectedExtensions],
    ['it is no CA', () => leaf.basicConstraints?.isCa === false && leaf.keyUsage?.keyCertSign === false],
    ['its key may sign a handshake', () => leaf.keyUsage?.digitalSignature === true],
    ['it is for servers', () => leaf.extendedKeyUsage?.join() === objectIds.serverAuth],
    ['it names what was asked and nothing else', () => isExactly(leaf.subjectAltName?.names, name)],
    ['its validity is not empty', () => leaf.notBefore < leaf.notAfter],
    ['it does not outlive its chain', () => leaf.notAfter <= signer.notAfter],
    [
      'its key is of P-256 and not the key of the CA',
      () => leaf.keyKind === 'P-256' && !leaf.native.publicKey.equals(createPublicKey(signer.key)),
    ],
    ['its signature verifies', () => leaf.native.verify(ca.native.publicKey)],
  ];
}

function listExtensions(leaf: Certificate): string {
  return leaf.extensions.map(({ id, critical }) => (critical ? `${id} critical` : id)).join(', ');
}

function isExactly(names: readonly GeneralName[] | undefined, wanted: LeafName): boolean {
  const [only, ...others] = names ?? [];
  if (only === undefined || others.length > 0) return false;
  if (wanted.kind === 'dns') return only.kind === 'dns' && only.text === wanted.host;
  return only.kind === 'ip' && equal(only.octets, wanted.address.octets);
}

function equal(left: Uint8Array | undefined, right: Uint8Array | undefined): boolean {
  return left !== undefined && right !== undefined && Buffer.compare(left, right) === 0;
}
