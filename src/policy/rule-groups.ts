// Rules sorted by the name they are written for. A group is what decides a name: the most specific one, alone, whatever
// the order of the rules. `decide` and the generator of Envoy's filter both start from these groups.
import { cidrAround, cidrText } from '../names/cidr.ts';
import { hostPatternText } from '../names/host-pattern.ts';
import type { Cidr, HostName, IpAddress, ValidName } from '../names/name-types.ts';
import type { Policy, PolicyRule, RuleTarget } from './policy-types.ts';

/** What the rules of a group are written for; one address is the range that holds it alone. */
export type GroupTarget =
  | { readonly kind: 'exact'; readonly host: HostName }
  | { readonly kind: 'suffix'; readonly suffix: HostName }
  | { readonly kind: 'cidr'; readonly cidr: Cidr };

/** `rules` are never empty and stand in the order of the policy: the first that fits decides. */
export type RuleGroup = { readonly target: GroupTarget; readonly rules: readonly PolicyRule[] };

/** Keyed by `groupKey`, in the order in which a policy first names them. */
export function groupRules(policy: Policy): ReadonlyMap<string, RuleGroup> {
  const groups = new Map<string, { readonly target: GroupTarget; readonly rules: PolicyRule[] }>();
  for (const rule of policy.rules) {
    const target = groupTarget(rule.target);
    const key = groupKey(target);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { target, rules: [rule] });
    else group.rules.push(rule);
  }
  return groups;
}

/** Every group that holds the name, from the most specific on; the first decides, alone. */
export function* groupsHolding(
  groups: ReadonlyMap<string, RuleGroup>,
  name: ValidName,
): Generator<RuleGroup, undefined, undefined> {
  for (const key of name.kind === 'dns' ? keysOfHost(name.host) : keysOfAddress(name.address)) {
    const group = groups.get(key);
    if (group !== undefined) yield group;
  }
}

function* keysOfHost(host: HostName): Generator<string> {
  yield host;
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) yield `*${host.slice(dot)}`;
}

function* keysOfAddress(address: IpAddress): Generator<string> {
  for (let prefixLength = address.octets.length * 8; prefixLength >= 0; prefixLength -= 1) {
    yield cidrText(cidrAround(address, prefixLength));
  }
}

/** `example.com`, `*.example.com` or `192.0.2.0/24`: no two kinds share a text. */
export function groupKey(target: GroupTarget): string {
  return target.kind === 'cidr' ? cidrText(target.cidr) : hostPatternText(target);
}

/** Whether a rule's ports and actors let it decide; `actor` is undefined for a client without a verified identity. */
export function ruleFits(rule: PolicyRule, port: number, actor: string | undefined): boolean {
  const portFits = rule.ports.length === 0 || rule.ports.includes(port);
  const actorFits = rule.actors.length === 0 || (actor !== undefined && rule.actors.includes(actor));
  return portFits && actorFits;
}

function groupTarget(target: RuleTarget): GroupTarget {
  if (target.kind === 'cidr') return target;
  const { pattern } = target;
  if (pattern.kind !== 'address') return pattern;
  return { kind: 'cidr', cidr: { base: pattern.address, prefixLength: pattern.address.octets.length * 8 } };
}
