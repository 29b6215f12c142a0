// What `leafgate policy check` says of a file. Pure.
import type { LeafgateError } from '../errors.ts';
import type { Policy, Verdict } from '../policy/policy-types.ts';
import { placeIn } from '../settings/policy-file-errors.ts';
import { reviewPolicy, type PolicyRemark } from '../policy/review-policy.ts';
import type { PolicyFile } from '../settings/policy-file.ts';

export type CheckRemark = {
  readonly kind: string;
  readonly rule: string;
  readonly line: number | undefined;
  readonly text: string;
};

/** a file of thousands of odd rules must not print a book */
const maxRemarks = 200;

/** Odd but valid things of the rules and of the dry-run rules, at most 200 of each. */
export function remarksOf({ policy, dryRun, lines, dryRunLines }: PolicyFile): readonly CheckRemark[] {
  return [...remarks(policy, lines, ''), ...(dryRun === undefined ? [] : remarks(dryRun, dryRunLines, 'dry run: '))];
}

function remarks(policy: Policy, lines: ReadonlyMap<string, number>, prefix: string): readonly CheckRemark[] {
  const all = reviewPolicy(policy);
  const shown = all.slice(0, maxRemarks).map((remark) => {
    return {
      kind: remark.kind,
      rule: remark.rule,
      line: lines.get(remark.rule),
      text: prefix + remarkText(remark, policy, lines),
    };
  });
  if (all.length <= maxRemarks) return shown;
  return [
    ...shown,
    { kind: 'more', rule: '', line: undefined, text: `${prefix}${all.length - maxRemarks} more warnings` },
  ];
}

function remarkText(
  { kind, rule, target, other }: PolicyRemark,
  policy: Policy,
  lines: ReadonlyMap<string, number>,
): string {
  const line = lines.get(other);
  const otherRule = `rule ${other}${line === undefined ? '' : ` (line ${line})`}`;
  switch (kind) {
    case 'unreachable':
      return `rule ${rule} never decides about ${target}: ${otherRule} comes first`;
    case 'contradicted':
      return `rule ${rule} never decides about ${target}: ${otherRule} comes first, and says otherwise`;
    case 'repeated':
      return `rule ${rule} lists ${target} twice`;
    case 'no-fallback':
      return `where no rule for ${target} fits, the default (${policy.defaultVerdict}) decides, not the rules for ${other}`;
    case 'tls-to-address':
      return `rule ${rule} intercepts addresses: plain HTTP to them is read, TLS to them fails, for it has no server name`;
    case 'unread-by-default':
      return `the default is ${policy.defaultVerdict}: what no rule names leaves unread`;
    default:
      return kind satisfies never;
  }
}

/** `3 rules for 12 hosts (2 intercept, 1 deny), default deny; dry run: 1 rule for 1 host (1 deny), default intercept` */
export function summaryText({ policy, dryRun, origins }: PolicyFile): string {
  const parts = [
    partText(policy),
    ...(dryRun === undefined ? [] : [`dry run: ${partText(dryRun)}`]),
    ...(origins.length === 0 ? [] : [plural(origins.length, 'origin')]),
  ];
  return parts.join('; ');
}

type PartSummary = {
  readonly default: Verdict;
  readonly rules: number;
  readonly hosts: number;
  readonly verdicts: { readonly [verdict in Verdict]?: number };
};

function summaryOf({ rules, defaultVerdict }: Policy): PartSummary {
  const byName = new Map(rules.map(({ name, verdict }) => [name, verdict]));
  const verdicts: { [verdict in Verdict]?: number } = {};
  for (const verdict of byName.values()) verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  return { default: defaultVerdict, rules: byName.size, hosts: rules.length, verdicts };
}

function partText(policy: Policy): string {
  const { rules, hosts, verdicts, default: byDefault } = summaryOf(policy);
  if (rules === 0) return `no rule, default ${byDefault}`;
  const counted = Object.entries(verdicts).map(([verdict, count]) => `${count} ${verdict}`);
  return `${plural(rules, 'rule')} for ${plural(hosts, 'host')} (${counted.join(', ')}), default ${byDefault}`;
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

type Checked =
  | { readonly problems: readonly LeafgateError[] }
  | { readonly file: PolicyFile; readonly remarks: readonly CheckRemark[] };

export function checkJson(path: string, checked: Checked): object {
  if ('problems' in checked) {
    const problems = checked.problems.map((problem) => {
      const { code, message, remedy } = problem;
      return { code, message, remedy, ...placeIn(problem, path) };
    });
    return { file: path, ok: false, problems, warnings: [] };
  }
  const { file, remarks: warnings } = checked;
  return {
    ...{ file: path, ok: true, problems: [], warnings, ...summaryOf(file.policy), origins: file.origins.length },
    ...(file.dryRun === undefined ? {} : { dryRun: summaryOf(file.dryRun) }),
  };
}
