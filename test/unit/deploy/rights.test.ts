// What the shipped roles give, and to whom: the controller alone, by name, and nothing of a cluster's Secrets.
import { describe, expect, test } from 'vitest';
import type { RoleManifest, Rule } from '../../support/manifest-types.ts';
import { ofKind, onlyOne, shippedManifest, shippedManifests } from '../../support/shipped-manifests.ts';

const all = shippedManifests('controller', 'bounds', 'gateway');
const roles: readonly RoleManifest[] = [...ofKind(all, 'Role'), ...ofKind(all, 'ClusterRole')];
const rules = roles.flatMap((role) => role.rules.map((rule) => ({ role, rule })));
const { spec: gateway, metadata } = shippedManifest('gateway', 'EgressGateway');

describe('the rights of the controller', () => {
  test('have no wildcard but that of a signer’s domain', () => {
    for (const { rule } of rules) {
      expect([...rule.apiGroups, ...rule.resources, ...rule.verbs]).not.toContain('*');
      for (const name of rule.resourceNames ?? []) expect(name).not.toMatch(/^\*/);
    }
  });

  test('reach Secrets in the namespace of a gateway only, by their names, to read', () => {
    const secrets = rules.filter(({ rule }) => rule.resources.includes('secrets'));
    expect(
      secrets.map(({ role, rule }) => [role.kind, role.metadata.namespace, rule.resourceNames, rule.verbs]),
    ).toEqual([
      ['Role', metadata.namespace, [gateway.caPool.secretName, gateway.servingTLS.secretName], ['list', 'watch']],
    ]);
  });

  test('are these, in the namespace of the gateway', () => {
    const { name } = metadata;
    expect(shippedManifest('bounds', 'Role').rules).toEqual([
      rule('', 'secrets', 'list watch', [gateway.caPool.secretName, gateway.servingTLS.secretName]),
      rule('', 'configmaps', 'list watch create patch', [`${name}-envoy`]),
      rule('apps', 'deployments', 'get patch', [name]),
      rule('leafgate.dev', 'egressgateways', 'get list watch patch'),
      rule('leafgate.dev', 'egressgateways/status', 'patch'),
      rule('events.k8s.io', 'events', 'create patch'),
    ]);
  });

  test('are these, in the cluster: the one bundle, whose name follows from its signer, and the signer', () => {
    const { signerName, name } = gateway.trustBundle;
    expect(shippedManifest('bounds', 'ClusterRole').rules).toEqual([
      rule('certificates.k8s.io', 'clustertrustbundles', 'create patch delete', [
        `${signerName.replaceAll('/', ':')}:${name}`,
      ]),
      rule('certificates.k8s.io', 'signers', 'attest', [signerName]),
    ]);
    expect(shippedManifest('controller', 'ClusterRole').rules).toEqual([
      rule('certificates.k8s.io', 'clustertrustbundles', 'get list watch'),
    ]);
  });

  test('are these, in its own namespace', () => {
    expect(shippedManifest('controller', 'Role').rules).toEqual([
      rule('coordination.k8s.io', 'leases', 'get update', ['leafgate-controller']),
      rule('coordination.k8s.io', 'leases', 'create'),
    ]);
  });

  test('are bound to the controller and to nobody else, each role once', () => {
    const account = shippedManifest('controller', 'ServiceAccount').metadata;
    const bindings = [...ofKind(all, 'RoleBinding'), ...ofKind(all, 'ClusterRoleBinding')];
    const idOf = (kind: string, namespace: string | undefined, name: string): string =>
      [kind, namespace ?? '', name].join(' ');
    for (const { subjects } of bindings) {
      expect(subjects).toEqual([{ kind: 'ServiceAccount', name: account.name, namespace: account.namespace }]);
    }
    const bound = bindings.map(({ roleRef, metadata: { namespace } }) => idOf(roleRef.kind, namespace, roleRef.name));
    expect(bound.sort()).toEqual(
      roles.map(({ kind, metadata: { namespace, name } }) => idOf(kind, namespace, name)).sort(),
    );
  });
});

test('the controller looks at the namespace and the signer that it has rights for', () => {
  const { containers } = shippedManifest('controller', 'Deployment').spec.template.spec;
  const { args } = onlyOne(containers, 'container');
  expect(args).toContain(`--namespace=${metadata.namespace}`);
  expect(args).toContain(`--signer=${metadata.namespace}=${gateway.trustBundle.signerName}`);
});

function rule(group: string, resource: string, verbs: string, resourceNames?: readonly string[]): Rule {
  const names = resourceNames === undefined ? {} : { resourceNames };
  return { apiGroups: [group], resources: [resource], ...names, verbs: verbs.split(' ') };
}
