// What origins are verified with: never a CA of the gateway's own, wherever somebody has put it. Pure.
import { createHash } from 'node:crypto';
import { readCertificateParts } from '../x509/certificate-parts.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import type { Pool } from './pool-types.ts';

/**
 * All roots, each once, without the gateway's `own`. Whoever installed the gateway's CA in the system must not make the
 * gateway accept an origin that somebody signed with it.
 */
export function originRoots(roots: readonly Certificate[], own: readonly Certificate[]): readonly Certificate[] {
  const ownKeys = new Set(own.map(publicKeyDigest));
  const kept = new Map<string, Certificate>();
  for (const root of roots) if (!ownKeys.has(publicKeyDigest(root))) kept.set(root.sha256, root);
  return [...kept.values()];
}

/**
 * lower-case hex; by its key a CA is known in every certificate of it, also in an earlier one that was renewed, or in a
 * cross-certificate: what it signs verifies with any of them
 */
export function publicKeyDigest({ der }: Certificate): string {
  return createHash('sha256').update(readCertificateParts(der).publicKeyInfo).digest('hex');
}

/** every certificate of every CA in a pool */
export function ownCertificates(pool: Pool): readonly Certificate[] {
  return pool.cas.flatMap((ca) => [ca.anchor, ...ca.intermediates]);
}
