// A check: one question about facts that were gathered before, answered without touching anything. Pure.
import type { Problem } from './problem-table.ts';

export type CheckResult =
  | { readonly kind: 'ok'; readonly note: string }
  /** there was nothing to examine, and that is no problem */
  | { readonly kind: 'skipped'; readonly note: string }
  | { readonly kind: 'found'; readonly problems: readonly [Problem, ...Problem[]] };

export type Check<Facts> = {
  readonly id: string;
  /** what it looks at, for people */
  readonly title: string;
  readonly examine: (facts: Facts) => CheckResult;
};

export type CheckReport = { readonly id: string; readonly title: string; readonly result: CheckResult };

export function runChecks<Facts>(checks: readonly Check<Facts>[], facts: Facts): readonly CheckReport[] {
  return checks.map(({ id, title, examine }) => ({ id, title, result: examine(facts) }));
}

export function ok(note: string): CheckResult {
  return { kind: 'ok', note };
}

export function skipped(note: string): CheckResult {
  return { kind: 'skipped', note };
}

/** ok with `note` when nothing was found */
export function foundOr(problems: readonly Problem[], note: string): CheckResult {
  const [first, ...more] = problems;
  return first === undefined ? ok(note) : { kind: 'found', problems: [first, ...more] };
}

/** warnings alone leave it healthy */
export function isHealthy(reports: readonly CheckReport[]): boolean {
  return reports.every(({ result }) => {
    return result.kind !== 'found' || result.problems.every(({ severity }) => severity === 'warning');
  });
}
