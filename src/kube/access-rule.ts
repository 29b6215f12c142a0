// A rule of the API server's authorizer: how it is said, so that a person can write it down as it stands, and whether it is
// there. Must not know what it is for.
import type { KubeClient } from './kube-types.ts';

export type AccessRule = {
  readonly verbs: readonly string[];
  /** '' for the core group */
  readonly group: string;
  /** plural, with the subresource: `egressgateways/status` */
  readonly resource: string;
  readonly name?: string;
  readonly namespace?: string;
};

/** `list, watch on secrets "pool" in namespace egress` */
export function sayRule({ verbs, group, resource, name, namespace }: AccessRule): string {
  const what = group === '' ? resource : `${resource}.${group}`;
  const which = name === undefined ? '' : ` "${name}"`;
  return `${verbs.join(', ')} on ${what}${which}${namespace === undefined ? '' : ` in namespace ${namespace}`}`;
}

/** what such a rule is written into */
export function roleOf({ namespace }: AccessRule): string {
  return namespace === undefined ? 'ClusterRole' : `Role in namespace ${namespace}`;
}

/** Asks for the first of its verbs. */
export async function hasRule(rule: AccessRule, client: Pick<KubeClient, 'mayI'>): Promise<boolean> {
  const { verbs, group, resource, name, namespace } = rule;
  const [plural = '', subresource] = resource.split('/');
  const answer = await client.mayI({
    ...{ group, resource: plural, verb: verbs[0] ?? '' },
    ...(subresource === undefined ? {} : { subresource }),
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
  });
  return answer.allowed;
}
