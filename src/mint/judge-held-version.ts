// Is a leaf that Envoy says it holds still good? Decided from its version alone, so that a restarted server needs no
// memory and re-mints nothing. Must not know names: whether the name is still allowed is judged before.
import { between, type EpochMs } from '../clock.ts';
import type { Pool } from '../pool/pool-types.ts';
import { leastUsefulMs, longestLeafMs, ttlMarginMs } from './mint-settings.ts';
import { parseVersion } from './sds-version.ts';

/** notAfter of the held leaf when it may stay, undefined when it must be replaced. */
export function judgeHeldVersion(version: string, pool: Pool | undefined, now: EpochMs): EpochMs | undefined {
  const held = parseVersion(version);
  if (held === undefined) return undefined;
  const leftMs = between(now, held.notAfter);
  // no leaf of ours lives longer than the longest: such a version is foreign, or the clock was wrong when it was made
  if (leftMs < ttlMarginMs + leastUsefulMs || leftMs > longestLeafMs) return undefined;
  // without a pool nothing says that the CA was withdrawn: what serves goes on serving until its own end
  if (pool === undefined) return held.notAfter;
  return pool.cas.some((ca) => ca.keyIdPrefix === held.keyIdPrefix) ? held.notAfter : undefined;
}
