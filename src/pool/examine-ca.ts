// Judges the certificates of one CA: would every client accept leaves below them? Each fault names the clients that
// would not (facts of mitm-peers 2.3 and 3.1). All faults are reported, not the first. Pure.
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { LeafgateError } from '../errors.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { forbidsEveryLeaf } from '../x509/name-constraints.ts';
import { objectIds } from '../x509/object-ids.ts';
import { poolErrors } from './pool-errors.ts';

/** One CA with its certificates read. `chain`: the signer first, the root last. */
export type CaChain = {
  readonly ca: string;
  readonly chain: readonly Link[];
  readonly signingKey: KeyObject | undefined;
};

/** a certificate of the chain, and what errors call it */
export type Link = { readonly certificate: Certificate; readonly role: string };

export function linksOf(anchor: Certificate, intermediates: readonly Certificate[]): readonly Link[] {
  const between = intermediates.map((certificate, index) => ({ certificate, role: `intermediate ${index + 1}` }));
  return [...between, { certificate: anchor, role: 'root' }];
}

export function examineCa({ ca, chain, signingKey }: CaChain): readonly LeafgateError[] {
  return [
    ...chain.flatMap(({ certificate, role }) => examineCertificate(certificate, { ca, certificate: role })),
    ...chain.flatMap((link, index) => examineIssue({ ca, link, issuer: chain[index + 1] })),
    ...examinePathLengths(ca, chain),
    ...examineKey(ca, chain[0], signingKey),
  ];
}

type Place = { readonly ca: string; readonly certificate: string };

/** what all clients process in a CA; rustls refuses others when critical, certificatePolicies among them (uv 19903) */
const understoodWhenCritical: readonly string[] = [
  objectIds.basicConstraints,
  objectIds.keyUsage,
  objectIds.extendedKeyUsage,
  objectIds.nameConstraints,
];

function examineCertificate(certificate: Certificate, place: Place): readonly LeafgateError[] {
  const faults: LeafgateError[] = [];
  const { basicConstraints, keyUsage, extendedKeyUsage, subjectKeyId, nameConstraints, version } = certificate;
  if (version !== 3) return [poolErrors.error('pool-ca-version', { ...place, version })];
  if (basicConstraints?.isCa !== true) faults.push(poolErrors.error('pool-ca-not-a-ca', place));
  else if (!basicConstraints.critical) faults.push(poolErrors.error('pool-ca-constraints-not-critical', place));
  if (keyUsage === undefined) faults.push(poolErrors.error('pool-ca-no-key-usage', place));
  else if (!keyUsage.keyCertSign) faults.push(poolErrors.error('pool-ca-no-cert-sign', place));
  if (subjectKeyId === undefined || subjectKeyId.length === 0) {
    faults.push(poolErrors.error('pool-ca-no-subject-key-id', place));
  }
  if (!hasUsableSerial(certificate)) faults.push(poolErrors.error('pool-ca-serial', place));
  const kind = refusedKeyKind(certificate);
  if (kind !== undefined) faults.push(poolErrors.error('pool-ca-key-kind', { ...place, kind }));
  if (extendedKeyUsage !== undefined && !allowsServers(extendedKeyUsage)) {
    faults.push(poolErrors.error('pool-ca-not-for-servers', place));
  }
  for (const { id, critical } of certificate.extensions) {
    if (critical && !understoodWhenCritical.includes(id)) {
      faults.push(poolErrors.error('pool-ca-critical-extension', { ...place, extension: id }));
    }
  }
  if (nameConstraints !== undefined && forbidsEveryLeaf(nameConstraints)) {
    const forms = nameConstraints.unsupported.join(', ');
    faults.push(poolErrors.error('pool-ca-name-constraints', { ...place, forms }));
  }
  return faults;
}

/** RFC 5280 4.1.2.2; a negative one starts with a hyphen here */
function hasUsableSerial({ serialHex }: Certificate): boolean {
  return /^[0-9a-f]{1,40}$/.test(serialHex) && !/^0+$/.test(serialHex);
}

function allowsServers(purposes: readonly string[]): boolean {
  return purposes.includes(objectIds.serverAuth) || purposes.includes(objectIds.anyExtendedKeyUsage);
}

/** design section 5: P-256, P-384, RSA 2048 to 4096; Ed25519 is judged when it shall sign */
function refusedKeyKind({ keyKind, rsaBits }: Certificate): string | undefined {
  switch (keyKind) {
    case 'P-256':
    case 'P-384':
    case 'Ed25519':
      return undefined;
    case 'RSA':
      return rsaBits >= 2048 && rsaBits <= 4096 ? undefined : `RSA ${rsaBits} bit`;
    case 'P-521':
      return keyKind;
    case 'other':
      return 'unsupported';
    default:
      return keyKind satisfies never;
  }
}

/** signature algorithms with MD5 or SHA-1: RSA, DSA, ECDSA */
const weakSignatures: readonly string[] = [
  '1.2.840.113549.1.1.4',
  '1.2.840.113549.1.1.5',
  '1.2.840.10040.4.3',
  '1.2.840.10045.4.1',
];

/** the root must be its own issuer, an intermediate must be issued by the next in the chain */
function examineIssue(step: {
  readonly ca: string;
  readonly link: Link;
  readonly issuer: Link | undefined;
}): LeafgateError[] {
  const { ca, link, issuer } = step;
  if (issuer === undefined) {
    const isSelfSigned = whyNotIssued(link.certificate, link.certificate) === undefined;
    return isSelfSigned ? [] : [poolErrors.error('pool-ca-not-self-signed', { ca })];
  }
  const faults: LeafgateError[] = [];
  const reason = whyNotIssued(link.certificate, issuer.certificate);
  if (reason !== undefined) {
    faults.push(poolErrors.error('pool-ca-chain-broken', { ca, certificate: link.role, issuer: issuer.role, reason }));
  }
  if (weakSignatures.includes(link.certificate.signatureAlgorithm)) {
    faults.push(poolErrors.error('pool-ca-weak-signature', { ca, certificate: link.role }));
  }
  return faults;
}

function whyNotIssued(certificate: Certificate, issuer: Certificate): string | undefined {
  if (Buffer.compare(certificate.issuerDer, issuer.subjectDer) !== 0) return 'its issuer is another name';
  const { authorityKeyId } = certificate;
  if (authorityKeyId !== undefined && issuer.subjectKeyId !== undefined) {
    if (Buffer.compare(authorityKeyId, issuer.subjectKeyId) !== 0) return 'its authority key id is that of another key';
  } else if (certificate !== issuer) {
    return 'it has no authority key id';
  }
  return verifies(certificate, issuer) ? undefined : 'its signature does not verify';
}

function verifies(certificate: Certificate, issuer: Certificate): boolean {
  const key = publicKeyOf(issuer);
  return key !== undefined && certificate.native.verify(key);
}

/** RFC 5280 4.2.1.9: intermediates below count unless they are self-issued */
function examinePathLengths(ca: string, chain: readonly Link[]): readonly LeafgateError[] {
  return chain.flatMap(({ certificate, role }, index) => {
    const allowed = certificate.basicConstraints?.pathLength;
    const below = chain.slice(0, index).filter((link) => !isSelfIssued(link.certificate)).length;
    if (allowed === undefined || below <= allowed) return [];
    return [poolErrors.error('pool-ca-path-length', { ca, certificate: role, allowed, below })];
  });
}

function isSelfIssued({ subjectDer, issuerDer }: Certificate): boolean {
  return Buffer.compare(subjectDer, issuerDer) === 0;
}

function examineKey(ca: string, signer: Link | undefined, signingKey: KeyObject | undefined): readonly LeafgateError[] {
  if (signer === undefined || signingKey === undefined) return [];
  const certified = publicKeyOf(signer.certificate);
  const matches = certified !== undefined && createPublicKey(signingKey).equals(certified);
  return matches ? [] : [poolErrors.error('pool-ca-key-mismatch', { ca, certificate: signer.role })];
}

/** undefined when OpenSSL cannot read the key: `node:crypto` reads it only when it is asked for, and then throws */
function publicKeyOf({ native }: Certificate): KeyObject | undefined {
  try {
    return native.publicKey;
  } catch {
    return undefined;
  }
}
