// How often each rule decided, as Envoy counts it: by the rule's outcome, apart for what was asked of the proxy and for
// requests inside tunnels, enforced and dry-run rules apart. Counted since Envoy's start; a rule that never decided has
// no counter.
import { dryRunStats, enforcedStats } from '../bootstrap/policy-filter.ts';
import { chainNames } from '../bootstrap/http-chains.ts';
import type { AdminClient } from './admin-client.ts';

/** `proxy`: CONNECT, a redirected connection, a request without either; `tunnel`: requests inside one */
export type HitLeg = 'proxy' | 'tunnel';

export type RuleHits = {
  /** `<verdict>:<rule>` */
  readonly outcome: string;
  readonly mode: 'enforced' | 'dry-run';
  readonly leg: HitLeg;
  readonly hits: number;
};

const counterPattern = new RegExp(
  `^http\\.([^.]+)\\.rbac\\.(${enforcedStats}|${dryRunStats})\\.policy\\.(.+)\\.(?:shadow_)?(?:allowed|denied)$`,
);
const asked = `^http\\.[^.]+\\.rbac\\.(${enforcedStats}|${dryRunStats})\\.policy\\.`;
const tunnelLegs: ReadonlySet<string> = new Set([chainNames.intercept, chainNames.clear]);

/** One entry for each outcome, mode and leg that has been counted. @throws envoy-admin-failed */
export async function readRuleHits(admin: AdminClient): Promise<readonly RuleHits[]> {
  const sums = new Map<string, RuleHits>();
  for (const [name, hits] of await admin.readStats(asked)) {
    const counted = parseCounter(name, hits);
    if (counted === undefined) continue;
    const key = `${counted.mode} ${counted.leg} ${counted.outcome}`;
    sums.set(key, { ...counted, hits: hits + (sums.get(key)?.hits ?? 0) });
  }
  return [...sums.values()];
}

function parseCounter(name: string, hits: number): RuleHits | undefined {
  const [, leg = '', prefix, outcome] = counterPattern.exec(name) ?? [];
  if (outcome === undefined) return undefined;
  return {
    outcome,
    mode: prefix === enforcedStats ? 'enforced' : 'dry-run',
    leg: tunnelLegs.has(leg) ? 'tunnel' : 'proxy',
    hits,
  };
}
