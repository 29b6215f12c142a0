// Hits per rule, as `leafgate policy hits` shows them: rules of the policy in its order, then what only an earlier policy
// had. Pure.
import type { HitLeg, RuleHits } from '../envoy/rule-hits.ts';
import type { Policy } from '../policy/policy-types.ts';
import type { PolicyFile } from '../settings/policy-file.ts';
import { outcomesOf } from './rule-counters.ts';

type HitRow = {
  /** `<verdict>:<rule>` */
  readonly outcome: string;
  /** decisions about what was asked of the proxy: CONNECT, and requests without one */
  readonly proxy: number;
  /** decisions about requests inside tunnels */
  readonly tunnel: number;
  /** false for rules that only an earlier policy had */
  readonly inForce: boolean;
};

export type HitsTable = { readonly rules: readonly HitRow[]; readonly dryRun: readonly HitRow[] };

export function hitsTable(
  { policy, dryRun }: Pick<PolicyFile, 'policy' | 'dryRun'>,
  hits: readonly RuleHits[],
): HitsTable {
  return { rules: rowsOf(policy, hits, 'enforced'), dryRun: rowsOf(dryRun, hits, 'dry-run') };
}

/** the gateway's own check of itself is no rule of a person */
const ownOutcome = 'intercept:self-check';

function rowsOf(policy: Policy | undefined, hits: readonly RuleHits[], mode: RuleHits['mode']): readonly HitRow[] {
  const counted = hits.filter((hit) => hit.mode === mode && hit.outcome !== ownOutcome);
  const current = policy === undefined ? [] : outcomesOf(policy);
  const isCurrent = new Set(current);
  const earlier = [...new Set(counted.map(({ outcome }) => outcome))].filter((outcome) => !isCurrent.has(outcome));
  const counts = new Map(counted.map(({ outcome, leg, hits: count }) => [`${leg} ${outcome}`, count]));
  const of = (outcome: string, leg: HitLeg): number => counts.get(`${leg} ${outcome}`) ?? 0;
  return [...current, ...earlier.sort()].map((outcome) => ({
    ...{ outcome, proxy: of(outcome, 'proxy'), tunnel: of(outcome, 'tunnel'), inForce: isCurrent.has(outcome) },
  }));
}

export function hitsText({ rules, dryRun }: HitsTable): string {
  return [
    ...section('decisions since Envoy started', rules),
    ...(dryRun.length === 0 ? [] : section('dry run, which decides nothing', dryRun)),
    '',
  ].join('\n');
}

const numberWidth = 11;

function section(title: string, rows: readonly HitRow[]): readonly string[] {
  const hit = rows.filter(({ proxy, tunnel }) => proxy + tunnel > 0);
  const never = rows.filter(({ proxy, tunnel }) => proxy + tunnel === 0).map(({ outcome }) => outcome);
  const width = Math.max(0, ...hit.map(({ outcome }) => outcome.length));
  const line = (outcome: string, proxy: string, tunnel: string): string =>
    `  ${outcome.padEnd(width)}${proxy.padStart(numberWidth)}${tunnel.padStart(numberWidth)}`;
  return [
    `${title}:`,
    ...(hit.length === 0 ? [] : [line('', 'at proxy', 'in tunnel')]),
    ...hit.map(({ outcome, proxy, tunnel, inForce }) => {
      return `${line(outcome, String(proxy), String(tunnel))}${inForce ? '' : '  (of an earlier policy)'}`;
    }),
    ...(never.length === 0 ? [] : [`  never: ${never.join(', ')}`]),
  ];
}
