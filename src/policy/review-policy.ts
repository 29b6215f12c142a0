// What is odd about a policy although it is valid: rules that never decide, names that fall to the default where their
// author may have meant a suffix, TLS that cannot be intercepted. Pure.
import { defaultRuleName } from './policy-judge.ts';
import type { Policy, PolicyRule } from './policy-types.ts';
import { reachOf } from './reachable-rules.ts';
import { groupKey, groupRules, type RuleGroup } from './rule-groups.ts';

export type PolicyRemark = {
  readonly kind: 'unreachable' | 'contradicted' | 'repeated' | 'no-fallback' | 'tls-to-address' | 'unread-by-default';
  /** the rule that it is about; `default` for the default */
  readonly rule: string;
  /** host, suffix or range as the policy has it; empty for what is about a rule as a whole */
  readonly target: string;
  /** the other rule, or the less specific target, that matters here; empty when none does */
  readonly other: string;
};

export function reviewPolicy(policy: Policy): readonly PolicyRemark[] {
  const groups = groupRules(policy);
  const remarks: PolicyRemark[] = [];
  for (const group of groups.values()) {
    const { reached, fallsThrough } = reachOf(group.rules);
    remarks.push(...unreachable(group, reached));
    if (fallsThrough) remarks.push(...withoutFallback(group, groups));
  }
  const { defaultVerdict } = policy;
  if (defaultVerdict === 'tcp' || defaultVerdict === 'relay') {
    remarks.push({ kind: 'unread-by-default', rule: defaultRuleName, target: '', other: defaultVerdict });
  }
  return [...remarks, ...addressesWithTls(policy)];
}

function unreachable({ target, rules }: RuleGroup, reached: ReadonlySet<PolicyRule>): readonly PolicyRemark[] {
  return rules.flatMap((rule, index) => {
    if (reached.has(rule)) return [];
    const earlier = rules.slice(0, index).filter((before) => overlaps(before, rule));
    const contrary = earlier.find(({ verdict }) => verdict !== rule.verdict);
    const [first] = earlier;
    const kind = first?.name === rule.name ? 'repeated' : contrary === undefined ? 'unreachable' : 'contradicted';
    const other = kind === 'repeated' ? '' : ((contrary ?? first)?.name ?? '');
    return [{ kind, rule: rule.name, target: groupKey(target), other }];
  });
}

function overlaps(one: PolicyRule, other: PolicyRule): boolean {
  return shares(one.ports, other.ports) && shares(one.actors, other.actors);
}

/** an empty list stands for all */
function shares<Value>(one: readonly Value[], other: readonly Value[]): boolean {
  return one.length === 0 || other.length === 0 || one.some((value) => other.includes(value));
}

/** what its rules leave over goes to the default, not to a suffix that holds the name too: worth a word where there is one */
function withoutFallback(
  { target, rules }: RuleGroup,
  groups: ReadonlyMap<string, RuleGroup>,
): readonly PolicyRemark[] {
  const [rule] = rules;
  if (rule === undefined || target.kind === 'cidr') return [];
  const labels = (target.kind === 'exact' ? target.host : target.suffix).split('.');
  const wider = labels
    .map((_, index) => groups.get(`*.${labels.slice(index + 1).join('.')}`))
    .find((group) => group !== undefined);
  if (wider === undefined) return [];
  return [{ kind: 'no-fallback', rule: rule.name, target: groupKey(target), other: groupKey(wider.target) }];
}

/** once a rule: TLS to an address has no server name (RFC 6066 section 3), so that there is no leaf for it */
function addressesWithTls({ rules }: Policy): readonly PolicyRemark[] {
  const named = new Map<string, PolicyRemark>();
  for (const { name, target, verdict } of rules) {
    const isAddress = target.kind === 'cidr' || target.pattern.kind === 'address';
    if (verdict !== 'intercept' || !isAddress || named.has(name)) continue;
    named.set(name, { kind: 'tls-to-address', rule: name, target: '', other: '' });
  }
  return [...named.values()];
}
