// How the controller says that it lacks a rule for an object.
import { sayRule, type AccessRule } from '../kube/access-rule.ts';
import type { ObjectPlace } from '../kube/kube-types.ts';

/** `the controller may not …: its Role lacks that rule` */
export function sayMissingRule(rule: AccessRule): string {
  const kind = rule.namespace === undefined ? 'ClusterRole' : 'Role';
  return `the controller has no rule for ${sayRule(rule)}: add it to its ${kind}`;
}

export function ruleFor({ resource, namespace, name }: ObjectPlace, verbs: readonly string[]): AccessRule {
  const { group, plural } = resource;
  return { verbs, group, resource: plural, name, ...(namespace === undefined ? {} : { namespace }) };
}

/** what following one object by its name takes */
export const followVerbs = ['list', 'watch'] as const;
