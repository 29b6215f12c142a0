// What origins are verified with: never a CA of the gateway's own, wherever somebody has put it. Pure.
import type { Certificate } from '../x509/certificate-types.ts';
import type { Pool } from './pool-types.ts';

/**
 * All roots, each once, without the gateway's `own` certificates. Whoever installed the gateway's CA in the system must not
 * make the gateway accept an origin that somebody signed with it.
 */
export function originRoots(roots: readonly Certificate[], own: readonly Certificate[]): readonly Certificate[] {
  const refused = new Set(own.map(({ sha256 }) => sha256));
  const kept = new Map<string, Certificate>();
  for (const root of roots) if (!refused.has(root.sha256)) kept.set(root.sha256, root);
  return [...kept.values()];
}

/** every certificate of every CA in a pool */
export function ownCertificates(pool: Pool): readonly Certificate[] {
  return pool.cas.flatMap((ca) => [ca.anchor, ...ca.intermediates]);
}
