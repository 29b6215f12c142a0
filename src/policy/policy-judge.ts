// Decides for a host, a port and an actor. Names are looked up, never scanned: a policy of 10,000 rules costs a client's
// name as many look-ups as it has labels. Must not know how rules arrive, nor that Envoy decides the same elsewhere.
import { cidrAround, cidrText } from '../names/cidr.ts';
import type { HostName, IpAddress, ValidName } from '../names/name-types.ts';
import type { Decision, Policy, PolicyQuestion, PolicyRule } from './policy-types.ts';
import { groupKey, groupRules, ruleFits, type RuleGroup } from './rule-groups.ts';

/** the rule name of a decision that no rule took */
export const defaultRuleName = 'default';

export type MayIntercept = Decision & { readonly allowed: boolean };

export interface PolicyJudge {
  decide(question: PolicyQuestion): Decision;
  /** Whether some port and some actor could have the name intercepted: SDS knows neither. */
  mayIntercept(name: ValidName): MayIntercept;
}

type Groups = ReadonlyMap<string, RuleGroup>;

export function createPolicyJudge(policy: Policy): PolicyJudge {
  const groups = groupRules(policy);
  const fallback: Decision = { verdict: policy.defaultVerdict, rule: defaultRuleName };
  return {
    decide: ({ host, port, actor }) => {
      const rule = rulesFor(groups, host).find((candidate) => ruleFits(candidate, port, actor));
      // no fallback to a shorter suffix: a narrow rule would otherwise open what its author meant to close
      return rule === undefined ? fallback : { verdict: rule.verdict, rule: rule.name };
    },
    mayIntercept: (name) => {
      const reachable = reachableDecisions(rulesFor(groups, name), fallback);
      const intercepting = reachable.find((decision) => decision.verdict === 'intercept');
      return { ...(intercepting ?? reachable[0] ?? fallback), allowed: intercepting !== undefined };
    },
  };
}

/** The rules of the most specific group that holds the name; empty when none does. */
function rulesFor(groups: Groups, name: ValidName): readonly PolicyRule[] {
  const group = name.kind === 'dns' ? groupOfHost(groups, name.host) : groupOfAddress(groups, name.address);
  return group?.rules ?? [];
}

function groupOfHost(groups: Groups, host: HostName): RuleGroup | undefined {
  const exact = groups.get(groupKey({ kind: 'exact', host }));
  if (exact !== undefined) return exact;
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    const group = groups.get(`*${host.slice(dot)}`);
    if (group !== undefined) return group;
  }
  return undefined;
}

function groupOfAddress(groups: Groups, address: IpAddress): RuleGroup | undefined {
  for (let prefixLength = address.octets.length * 8; prefixLength >= 0; prefixLength -= 1) {
    const group = groups.get(cidrText(cidrAround(address, prefixLength)));
    if (group !== undefined) return group;
  }
  return undefined;
}

/** Every decision that a group can take for some port and some actor, in the order of its rules, the default last. */
function reachableDecisions(rules: readonly PolicyRule[], fallback: Decision): readonly Decision[] {
  const reached = rules.filter((rule, index) => isReachable(rule, rules.slice(0, index)));
  const decisions = reached.map((rule) => ({ verdict: rule.verdict, rule: rule.name }));
  const fallsThrough = !rules.some((rule) => ruleFits(rule, unlistedPort, undefined));
  return fallsThrough ? [...decisions, fallback] : decisions;
}

/** no rule can list it, so that only rules for any port fit it: it stands for the port that is hardest to shadow */
const unlistedPort = 0;

function isReachable(rule: PolicyRule, earlier: readonly PolicyRule[]): boolean {
  const ports = rule.ports.length === 0 ? [unlistedPort] : rule.ports;
  const actors = rule.actors.length === 0 ? [undefined] : rule.actors;
  return ports.some((port) =>
    actors.some((actor) => !earlier.some((earlierRule) => ruleFits(earlierRule, port, actor))),
  );
}
