// The rules that the controller must have before it starts: what it needs whatever the gateways are. What it needs for one
// gateway only (to write its bundle, its Secrets and ConfigMaps, its Deployment) shows in the conditions of that gateway, so
// that nobody who makes one can keep the controller from starting. Pure.
import type { AccessRule } from '../kube/access-rule.ts';
import { bundleResource } from '../kube/find-bundle-version.ts';
import { boundText, type SignerBound } from './signer-bounds.ts';
import { egressGateways } from './watched-kinds.ts';

export type LeasePlace = { readonly namespace: string; readonly name: string };

export type Bounds = { readonly namespaces: readonly string[]; readonly signers: readonly SignerBound[] };

export type RuleTerms = Bounds & { readonly lease: LeasePlace };

/** one question: it is answered well when one of these rules is there */
export type Requirement = readonly [AccessRule, ...AccessRule[]];

const { group: bundleGroup, plural: bundlesPlural } = bundleResource('v1');
const readVerbs = ['get', 'list', 'watch'] as const;
const writeVerbs = ['create', 'patch', 'delete'] as const;

export function requiredRules(terms: RuleTerms): readonly Requirement[] {
  return [
    ...terms.namespaces.flatMap(rulesOfNamespace),
    ...leaseRules(terms.lease),
    ...terms.signers.map(attestRule),
    ...readVerbs.map((verb): Requirement => [bundleRule(verb)]),
  ];
}

function rulesOfNamespace(namespace: string): readonly Requirement[] {
  const { group, plural } = egressGateways;
  const on = (resource: string, verbs: readonly string[]): readonly Requirement[] =>
    verbs.map((verb): Requirement => [{ verbs: [verb], group, resource, namespace }]);
  return [
    ...on(plural, ['get', 'list', 'watch', 'patch']),
    ...on(`${plural}/status`, ['patch']),
    ...['create', 'patch'].map((verb): Requirement => [
      { verbs: [verb], group: 'events.k8s.io', resource: 'events', namespace },
    ]),
  ];
}

function leaseRules({ namespace, name }: LeasePlace): readonly Requirement[] {
  const rule = { group: 'coordination.k8s.io', resource: 'leases', namespace };
  return [
    [{ ...rule, verbs: ['get'], name }],
    [{ ...rule, verbs: ['update'], name }],
    // a request to create has no name that RBAC could compare
    [{ ...rule, verbs: ['create'] }],
  ];
}

/** The API server's admission asks for the exact name, then for the whole domain (plugin ClusterTrustBundleAttest). */
function attestRule(bound: SignerBound): Requirement {
  const rule = { verbs: ['attest'], group: bundleGroup, resource: 'signers' };
  const whole = { ...rule, name: `${bound.domain}/*` };
  return bound.path === undefined ? [whole] : [{ ...rule, name: boundText(bound) }, whole];
}

/** Writing may be allowed by name only: server-side apply carries the name also to create. */
export function bundleWriteRules(name: string): readonly Requirement[] {
  return writeVerbs.map((verb): Requirement => [{ ...bundleRule(verb), name }]);
}

function bundleRule(verb: string): AccessRule {
  return { verbs: [verb], group: bundleGroup, resource: bundlesPlural };
}
