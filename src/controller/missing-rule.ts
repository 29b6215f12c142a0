// How a rule that the API server's authorizer lacks is said, so that a person can write it down as it stands: verbs,
// resource, name and namespace.
import type { ObjectPlace } from '../kube/kube-types.ts';

export type Rule = {
  readonly verbs: readonly string[];
  /** '' for the core group */
  readonly group: string;
  /** plural, with the subresource: `egressgateways/status` */
  readonly resource: string;
  readonly name?: string;
  readonly namespace?: string;
};

/** `list, watch on secrets "pool" in namespace egress` */
export function sayRule({ verbs, group, resource, name, namespace }: Rule): string {
  const what = group === '' ? resource : `${resource}.${group}`;
  const which = name === undefined ? '' : ` "${name}"`;
  return `${verbs.join(', ')} on ${what}${which}${namespace === undefined ? '' : ` in namespace ${namespace}`}`;
}

/** `the controller may not …: its Role lacks that rule` */
export function sayMissingRule(rule: Rule): string {
  const kind = rule.namespace === undefined ? 'ClusterRole' : 'Role';
  return `the controller has no rule for ${sayRule(rule)}: add it to its ${kind}`;
}

export function ruleFor({ resource, namespace, name }: ObjectPlace, verbs: readonly string[]): Rule {
  const { group, plural } = resource;
  return { verbs, group, resource: plural, name, ...(namespace === undefined ? {} : { namespace }) };
}

/** what following one object by its name takes */
export const followVerbs = ['list', 'watch'] as const;
