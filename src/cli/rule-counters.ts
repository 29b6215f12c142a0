// Hits per rule as metrics: read from Envoy before each scrape, with a line at 0 for each rule that never decided.
import { outcomeName } from '../bootstrap/policy-filter.ts';
import { createAdminClient } from '../envoy/admin-client.ts';
import { readRuleHits, type HitLeg, type RuleHits } from '../envoy/rule-hits.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import { defaultRuleName } from '../policy/policy-judge.ts';
import type { Policy } from '../policy/policy-types.ts';
import type { LivePolicy } from './live-policy.ts';

/** 10,000 rules on every leg of a gateway are some 6 MB */
const hitLimits = { timeoutMs: 5_000, maxBytes: 64 * 1024 * 1024 };
const legs: readonly HitLeg[] = ['proxy', 'tunnel'];

/** @throws envoy-admin-failed */
export function readHitsOf(adminSocket: string): Promise<readonly RuleHits[]> {
  return readRuleHits(createAdminClient(adminSocket, hitLimits));
}

export function countRules(adminSocket: string, live: LivePolicy, metrics: Metrics): void {
  metrics.beforeScrape(async () => {
    const hits = new Map((await readHitsOf(adminSocket)).map((hit) => [keyOf(hit), hit.hits]));
    const { policy, dryRun } = live.current();
    for (const leg of legs) {
      for (const rule of outcomesOf(policy)) {
        const total = hits.get(keyOf({ mode: 'enforced', leg, outcome: rule })) ?? 0;
        metrics.setTotal('leafgate_policy_decisions_total', total, { rule, leg });
      }
      for (const rule of dryRun === undefined ? [] : outcomesOf(dryRun)) {
        const total = hits.get(keyOf({ mode: 'dry-run', leg, outcome: rule })) ?? 0;
        metrics.setTotal('leafgate_policy_dry_run_decisions_total', total, { rule, leg });
      }
    }
  });
}

/** `<verdict>:<rule>` of each rule, in the order of the policy, and of the default */
export function outcomesOf({ rules, defaultVerdict }: Policy): readonly string[] {
  const named = rules.map(({ verdict, name }) => outcomeName(verdict, name));
  return [...new Set([...named, outcomeName(defaultVerdict, defaultRuleName)])];
}

function keyOf({ mode, leg, outcome }: Omit<RuleHits, 'hits'>): string {
  return `${mode} ${leg} ${outcome}`;
}
