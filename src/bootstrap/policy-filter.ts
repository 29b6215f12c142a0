// The policy as one RBAC matcher over the normalised host: live in Envoy, evaluated on every leg, flat in cost up to
// 10,000 names. It decides as `policy.decide` does; a property test holds the two equal.
// Every outcome names itself `<verdict>:<rule>`, which later chooses the inner chain. Dry-run rules are a second matcher
// beside it, which only counts.
import { defaultRuleName } from '../policy/policy-judge.ts';
import { groupKey, groupRules, type GroupTarget, type RuleGroup } from '../policy/rule-groups.ts';
import type { Policy, PolicyRule, Verdict } from '../policy/policy-types.ts';
import { selfCheckHost } from '../settings/gateway-spec.ts';
import { addressRange } from './dns-cache.ts';
import { stateKeys } from './filter-state.ts';
import { extension, typed, type JsonObject } from './json.ts';
import { filterDocument, type FollowedDocument } from './rendered-files.ts';

export const policyFilterName = 'policy';
/** what stands before the counters of rules; Envoy adds a dot */
export const enforcedStats = 'policy_';
export const dryRunStats = 'dry_run_';
export const policyFilterType = 'envoy.extensions.filters.http.rbac.v3.RBAC';

/** the built-in origin is always intercepted, whatever a policy says: first of its name and for any port and actor */
const selfCheckRule: PolicyRule = {
  name: 'self-check',
  target: { kind: 'host', pattern: { kind: 'exact', host: selfCheckHost } },
  verdict: 'intercept',
  ports: [],
  actors: [],
};

/** `dryRun` decides nothing: Envoy counts what it would have decided. */
export function policyDocument(policy: Policy, dryRun?: Policy): FollowedDocument {
  const configuration = typed(policyFilterType, {
    rules_stat_prefix: enforcedStats,
    track_per_rule_stats: true,
    matcher: policyMatcher(policy),
    ...(dryRun === undefined ? {} : { shadow_rules_stat_prefix: dryRunStats, shadow_matcher: policyMatcher(dryRun) }),
  });
  return filterDocument(policyFilterName, configuration, { policy, dryRun });
}

/** `intercept:example`, as records, metrics and refusals show it */
export function outcomeName(verdict: Verdict, rule: string): string {
  return `${verdict}:${rule}`;
}

function policyMatcher(policy: Policy): JsonObject {
  const byDefault = outcome(policy.defaultVerdict, defaultRuleName);
  const groups = [...groupRules({ ...policy, rules: [selfCheckRule, ...policy.rules] }).values()];
  const named = groups.filter(({ target }) => target.kind !== 'cidr');
  return {
    ...hostTree('envoy.matching.custom_matchers.domain_matcher', 'xds.type.matcher.v3.ServerNameMatcher', {
      domain_matchers: byOutcome(named, byDefault).map(({ targets, on_match }) => {
        return { domains: targets.map(groupKey), on_match };
      }),
    }),
    on_no_match: addressOutcome(groups, byDefault),
  };
}

/** literals are judged by the longest prefix; a host that is no literal matches no range */
function addressOutcome(groups: readonly RuleGroup[], byDefault: JsonObject): JsonObject {
  const ranges = byOutcome(
    groups.filter(({ target }) => target.kind === 'cidr'),
    byDefault,
  ).map(({ targets, on_match }) => {
    return {
      ranges: targets.flatMap((target) => (target.kind === 'cidr' ? [addressRange(target.cidr)] : [])),
      on_match,
    };
  });
  if (ranges.length === 0) return byDefault;
  const tree = hostTree('envoy.matching.custom_matchers.ip_range_matcher', 'xds.type.matcher.v3.IPMatcher', {
    range_matchers: ranges,
  });
  return { matcher: { ...tree, on_no_match: byDefault } };
}

type SharedOutcome = { readonly targets: GroupTarget[]; readonly on_match: JsonObject };

/** Names with the same rules share one outcome: a rule of 10,000 hosts then costs 67 MB in place of 84 (measured). */
function byOutcome(groups: readonly RuleGroup[], byDefault: JsonObject): readonly SharedOutcome[] {
  const shared = new Map<string, SharedOutcome>();
  for (const group of groups) {
    const key = JSON.stringify(group.rules.map(({ name, verdict, ports, actors }) => [name, verdict, ports, actors]));
    const known = shared.get(key);
    if (known === undefined) shared.set(key, { targets: [group.target], on_match: groupOutcome(group, byDefault) });
    else known.targets.push(group.target);
  }
  return [...shared.values()];
}

export function hostTree(name: string, type: string, fields: JsonObject): JsonObject {
  return { matcher_tree: { input: stateInput(stateKeys.host), custom_match: extension(name, type, fields) } };
}

/** the first rule that fits; when none does, the default, stated here so that Envoy looks at no shorter suffix */
function groupOutcome(group: RuleGroup, byDefault: JsonObject): JsonObject {
  const unconditional = group.rules.findIndex((rule) => conditionsOf(rule).length === 0);
  const conditional = unconditional === -1 ? group.rules : group.rules.slice(0, unconditional);
  const last = group.rules[unconditional];
  const otherwise = last === undefined ? byDefault : ruleOutcome(last);
  if (conditional.length === 0) return otherwise;
  const matchers = conditional.map((rule) => ({ predicate: allOf(conditionsOf(rule)), on_match: ruleOutcome(rule) }));
  return { matcher: { matcher_list: { matchers }, on_no_match: otherwise } };
}

function conditionsOf(rule: PolicyRule): readonly JsonObject[] {
  const ports = rule.ports.map((port) => stateEquals(stateKeys.port, String(port)));
  const actors = rule.actors.map((actor) => stateEquals(stateKeys.actor, actor));
  return [ports, actors].filter((alternatives) => alternatives.length > 0).map(anyOf);
}

function anyOf(predicates: readonly JsonObject[]): JsonObject {
  return combined('or_matcher', predicates);
}

function allOf(predicates: readonly JsonObject[]): JsonObject {
  return combined('and_matcher', predicates);
}

/** Envoy wants at least two predicates in a combination */
function combined(kind: 'or_matcher' | 'and_matcher', predicates: readonly JsonObject[]): JsonObject {
  const [only, second] = predicates;
  return only !== undefined && second === undefined ? only : { [kind]: { predicate: predicates } };
}

function stateEquals(key: string, exact: string): JsonObject {
  return { single_predicate: { input: stateInput(key), value_match: { exact } } };
}

export function stateInput(key: string): JsonObject {
  return extension(key, 'envoy.extensions.matching.common_inputs.network.v3.FilterStateInput', { key });
}

function ruleOutcome(rule: PolicyRule): JsonObject {
  return outcome(rule.verdict, rule.name);
}

function outcome(verdict: Verdict, rule: string): JsonObject {
  return rbacAction(outcomeName(verdict, rule), verdict === 'deny' ? 'DENY' : 'ALLOW');
}

export function rbacAction(name: string, action: 'ALLOW' | 'DENY'): JsonObject {
  return { action: extension('envoy.filters.rbac.action', 'envoy.config.rbac.v3.Action', { name, action }) };
}
