// Would a peer that was verified at its handshake still be verified with the CAs of now? Asked of open connections alone: the
// handshake itself is OpenSSL's to judge. Where this cannot tell, the answer is no, and the peer comes again. Pure.
import type { EpochMs } from '../clock.ts';
import type { Certificate } from '../x509/certificate-types.ts';

export type PeerChain = {
  readonly leaf: Certificate;
  /** what it sent after its leaf, in any order */
  readonly sent: readonly Certificate[];
};

/** chains have two or three certificates; the caps bound what a hostile one costs to keep and to look at */
const maxBetween = 8;
export const maxSent = 16;
export const maxSentBytes = 16 * 1024;
/** signatures looked at for one peer: a few of 3 ms each at worst, since all are looked at in one turn when CAs change */
const maxSignatures = 8;

export function isVerifiedBy(roots: readonly Certificate[], { leaf, sent }: PeerChain, now: EpochMs): boolean {
  const issuers = {
    roots: roots.filter((root) => isSelfIssued(root) && mayIssue(root, now)),
    // OpenSSL takes those of ca.crt too, where a peer sends its leaf alone
    between: [...sent.slice(0, maxSent), ...roots].filter((one) => !isSelfIssued(one) && mayIssue(one, now)),
    isIssuedBy: createIssueCheck(),
  };
  return isCurrent(leaf, now) && leadsToRoot(leaf, issuers, 0);
}

/**
 * Has the certificate of a peer that was let in at `since` ended, or one that it cannot be verified without, a root too? One that
 * ended before harms nobody: OpenSSL let the peer in past it, and would again.
 */
export function hasEnded(roots: readonly Certificate[], { since, ...chain }: LetInChain, now: EpochMs): boolean {
  if (chain.leaf.notAfter < now) return true;
  const hasEndedSince = ({ notAfter }: Certificate): boolean => since <= notAfter && notAfter < now;
  return [...chain.sent, ...roots].some(hasEndedSince) && !isVerifiedBy(roots, chain, now);
}

export type LetInChain = PeerChain & { readonly since: EpochMs };

type Issuers = {
  readonly roots: readonly Certificate[];
  readonly between: readonly Certificate[];
  readonly isIssuedBy: (certificate: Certificate, issuer: Certificate) => boolean;
};

/** `below`: how many CAs stand between `certificate` and the leaf, itself included */
function leadsToRoot(certificate: Certificate, { roots, between, isIssuedBy }: Issuers, below: number): boolean {
  const issues = (issuer: Certificate): boolean =>
    below <= (issuer.basicConstraints?.pathLength ?? maxBetween) && isIssuedBy(certificate, issuer);
  if (roots.some(issues)) return true;
  const issuer = between.find(issues);
  if (issuer === undefined || below === maxBetween) return false;
  return leadsToRoot(issuer, { roots, between: between.filter((one) => one !== issuer), isIssuedBy }, below + 1);
}

function createIssueCheck(): Issuers['isIssuedBy'] {
  let left = maxSignatures;
  return (certificate, issuer) => {
    if (left === 0 || Buffer.compare(certificate.issuerDer, issuer.subjectDer) !== 0) return false;
    left -= 1;
    try {
      return certificate.native.verify(issuer.native.publicKey);
    } catch {
      // a key of a kind that this OpenSSL does not know
      return false;
    }
  };
}

/** name constraints are not followed here: a CA that has them is left to a handshake */
function mayIssue(certificate: Certificate, now: EpochMs): boolean {
  const { version, basicConstraints, keyUsage, nameConstraints } = certificate;
  const isCa = basicConstraints?.isCa ?? version === 1;
  return isCa && nameConstraints === undefined && keyUsage?.keyCertSign !== false && isCurrent(certificate, now);
}

function isCurrent({ notBefore, notAfter }: Certificate, now: EpochMs): boolean {
  return notBefore <= now && now <= notAfter;
}

function isSelfIssued({ subjectDer, issuerDer }: Certificate): boolean {
  return Buffer.compare(subjectDer, issuerDer) === 0;
}
