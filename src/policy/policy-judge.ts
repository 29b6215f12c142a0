// Decides for a host, a port and an actor. Names are looked up, never scanned: a policy of 10,000 rules costs a client's
// name as many look-ups as it has labels. Must not know how rules arrive, nor that Envoy decides the same elsewhere.
import type { ValidName } from '../names/name-types.ts';
import type { Decision, Policy, PolicyQuestion } from './policy-types.ts';
import { reachOf } from './reachable-rules.ts';
import { groupRules, groupsHolding, ruleFits, type RuleGroup } from './rule-groups.ts';

/** the rule name of a decision that no rule took */
export const defaultRuleName = 'default';

export type MayIntercept = Decision & { readonly allowed: boolean };

export interface PolicyJudge {
  decide(question: PolicyQuestion): Decision;
  /** Whether some port and some actor could have the name intercepted: SDS knows neither. */
  mayIntercept(name: ValidName): MayIntercept;
}

export function createPolicyJudge(policy: Policy): PolicyJudge {
  const groups = groupRules(policy);
  const fallback: Decision = { verdict: policy.defaultVerdict, rule: defaultRuleName };
  const mayBe = new Map<RuleGroup, MayIntercept>();
  const groupOf = (name: ValidName): RuleGroup | undefined => groupsHolding(groups, name).next().value ?? undefined;
  return {
    decide: ({ host, port, actor }) => {
      const rule = groupOf(host)?.rules.find((candidate) => ruleFits(candidate, port, actor));
      // no fallback to a shorter suffix: a narrow rule would otherwise open what its author meant to close
      return rule === undefined ? fallback : { verdict: rule.verdict, rule: rule.name };
    },
    mayIntercept: (name) => {
      const group = groupOf(name);
      if (group === undefined) return { ...fallback, allowed: fallback.verdict === 'intercept' };
      const known = mayBe.get(group) ?? mayInterceptIn(group, fallback);
      mayBe.set(group, known);
      return known;
    },
  };
}

/** every decision that a group can take for some port and some actor, in the order of its rules, the default last */
function mayInterceptIn({ rules }: RuleGroup, fallback: Decision): MayIntercept {
  const { reached, fallsThrough } = reachOf(rules);
  const decisions: Decision[] = rules
    .filter((rule) => reached.has(rule))
    .map((rule) => ({ verdict: rule.verdict, rule: rule.name }));
  if (fallsThrough) decisions.push(fallback);
  const intercepting = decisions.find(({ verdict }) => verdict === 'intercept');
  return { ...(intercepting ?? decisions[0] ?? fallback), allowed: intercepting !== undefined };
}
