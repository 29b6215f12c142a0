// Why a policy decides as it does for one host, port and actor: the rules of the name that decides and what became of each,
// and the names that hold the host too and are not looked at. Pure; a test holds its decision equal to the judge's.
import { createPolicyJudge, type MayIntercept } from './policy-judge.ts';
import type { Decision, Policy, PolicyQuestion, PolicyRule } from './policy-types.ts';
import { groupKey, groupRules, groupsHolding, ruleFits } from './rule-groups.ts';

/** `decides`: the first that fits; `later`: fits too, but one before it decides */
type Fate = 'decides' | 'later' | 'other-port' | 'other-actor';

export type CandidateRule = { readonly rule: PolicyRule; readonly fate: Fate };

export type Explanation = {
  readonly decision: Decision;
  /** `example.com`, `*.example.com` or `192.0.2.0/24`; undefined when no rule names the host */
  readonly target: string | undefined;
  /** all rules of that target, in order */
  readonly candidates: readonly CandidateRule[];
  /** less specific targets that hold the host, with the names of their rules */
  readonly passedOver: readonly { readonly target: string; readonly rules: readonly string[] }[];
  /** no rule names the host, but one names all below it: people expect `*.x` to hold x */
  readonly isOnlyBelow: boolean;
  readonly mayIntercept: MayIntercept;
};

export function explainDecision(policy: Policy, question: PolicyQuestion): Explanation {
  const groups = groupRules(policy);
  const [group, ...others] = groupsHolding(groups, question.host);
  const { host } = question;
  const judge = createPolicyJudge(policy);
  return {
    decision: judge.decide(question),
    target: group && groupKey(group.target),
    candidates: group === undefined ? [] : candidatesOf(group.rules, question),
    passedOver: others.map(({ target, rules }) => {
      return { target: groupKey(target), rules: [...new Set(rules.map(({ name }) => name))] };
    }),
    isOnlyBelow: group === undefined && host.kind === 'dns' && groups.has(`*.${host.host}`),
    mayIntercept: judge.mayIntercept(question.host),
  };
}

function candidatesOf(rules: readonly PolicyRule[], { port, actor }: PolicyQuestion): readonly CandidateRule[] {
  const deciding = rules.find((rule) => ruleFits(rule, port, actor));
  return rules.map((rule) => ({ rule, fate: fateOf(rule, port, { actor, deciding }) }));
}

type Asked = { readonly actor: string | undefined; readonly deciding: PolicyRule | undefined };

function fateOf(rule: PolicyRule, port: number, { actor, deciding }: Asked): Fate {
  if (rule === deciding) return 'decides';
  if (ruleFits(rule, port, actor)) return 'later';
  return rule.ports.length > 0 && !rule.ports.includes(port) ? 'other-port' : 'other-actor';
}
