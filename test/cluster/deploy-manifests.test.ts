// What deploy/ ships, put to a real API server: every field known, every pod within the restricted profile, and the rights
// just those of the files.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { apiPath, applyManifest, waitUntilServed } from '../support/cluster/apply-manifests.ts';
import { installCertManager } from '../support/cluster/install-cert-manager.ts';
import { apiAs, mustSucceed, type RawApi } from '../support/cluster/raw-api.ts';
import type { Deployment, Manifest } from '../support/manifest-types.ts';
import { ofKind, parseManifests, shippedManifest, shippedManifests } from '../support/shipped-manifests.ts';

const page = readFileSync(new URL('../../docs/kubernetes.md', import.meta.url), 'utf8');
const installed = shippedManifests('controller', 'bounds', 'gateway', 'sds');

describeWithControlPlane('the shipped manifests', {}, (plane) => {
  let admin: RawApi;
  beforeAll(async () => {
    admin = apiAs(plane(), plane().user('admin'));
    for (const manifest of installed) {
      if (manifest.kind === 'EgressGateway') await waitUntilServed(admin, manifest);
      await applyManifest(admin, manifest);
    }
  });
  afterAll(() => admin.close());

  test('change nothing when they are applied again', async () => {
    for (const manifest of installed) {
      const before = mustSucceed(await admin.get(apiPath(manifest)));
      const after = await applyManifest(admin, manifest);
      expect(after['metadata'].resourceVersion, manifest.metadata.name).toBe(before['metadata'].resourceVersion);
    }
  });

  const asPod = ({ metadata, spec: { template } }: Deployment, securityContext?: object): Manifest => ({
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { ...metadata, labels: template.metadata.labels },
    spec: { ...template.spec, ...(securityContext && { securityContext }) },
  });
  const tryPod = (pod: Manifest) =>
    admin.post(`/api/v1/namespaces/${pod.metadata.namespace ?? ''}/pods?dryRun=All&fieldValidation=Strict`, pod);

  test.each(ofKind(installed, 'Deployment').map((one) => [one.metadata.name, one] as const))(
    'have pods of %s that the restricted profile lets in, and only as they are',
    async (_, deployment) => {
      const allowed = await tryPod(asPod(deployment));
      expect(allowed).toMatchObject({ status: 201 });
      expect(allowed.headers.warning).toBeUndefined();
      const asRoot = await tryPod(asPod(deployment, { runAsUser: 0 }));
      expect(asRoot).toMatchObject({ status: 403, text: expect.stringContaining('restricted') as string });
    },
  );

  test('and the objects on docs/kubernetes.md are taken as they are printed, with strict fields', async () => {
    // a block in a list is indented as its list is
    const printed = [...page.matchAll(/^( *)```yaml\n([^]*?)```/gm)].flatMap(([, indent = '', text = '']) =>
      parseManifests(text.replaceAll(new RegExp(`^${indent}`, 'gm'), '')),
    );
    await installCertManager(admin);
    expect(printed.map(({ kind }) => kind)).toEqual(['Pod', ...Array<string>(4).fill('Certificate'), 'NetworkPolicy']);
    for (const manifest of printed) {
      const namespace = manifest.metadata.namespace === 'agents' ? 'default' : (manifest.metadata.namespace ?? '');
      const { status, text } = await admin.apply(
        apiPath({ ...manifest, metadata: { ...manifest.metadata, namespace } }),
        { ...manifest, metadata: { ...manifest.metadata, namespace } },
        { query: 'dryRun=All&fieldValidation=Strict' },
      );
      expect(status, text).toBe(201);
    }
  });

  /** empty: any name, the whole cluster */
  type Question = readonly [verb: string, resource: string, name: string, namespace: string];
  async function may(user: string, [verb, resource, name, namespace]: Question): Promise<boolean> {
    const [plural = '', group = ''] = resource.split(/\.(.*)/);
    const [kind = '', subresource] = plural.split('/');
    const asked = { verb, group, resource: kind, name, namespace, subresource };
    const groups = ['system:serviceaccounts', 'system:authenticated'];
    const answer = await admin.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' },
      spec: { user, groups, resourceAttributes: asked },
    });
    return mustSucceed(answer)['status'].allowed as boolean;
  }
  const accountOf = (folder: 'controller' | 'gateway'): string => {
    const { namespace = '', name } = shippedManifest(folder, 'ServiceAccount').metadata;
    return `system:serviceaccount:${namespace}:${name}`;
  };
  const bundle = 'egress.example.com:mitm:gateway';

  test.each<Question>([
    ['watch', 'secrets', 'gateway-ca-pool', 'egress'],
    ['patch', 'configmaps', 'gateway-envoy', 'egress'],
    ['patch', 'deployments.apps', 'gateway', 'egress'],
    ['list', 'egressgateways.leafgate.dev', '', 'egress'],
    ['patch', 'egressgateways/status.leafgate.dev', 'gateway', 'egress'],
    ['delete', 'clustertrustbundles.certificates.k8s.io', bundle, ''],
    ['attest', 'signers.certificates.k8s.io', 'egress.example.com/mitm', ''],
    ['update', 'leases.coordination.k8s.io', 'leafgate-controller', 'leafgate-system'],
  ])('let the controller %s %s %s', async (verb, resource, name, namespace) => {
    expect(await may(accountOf('controller'), [verb, resource, name, namespace])).toBe(true);
    expect(await may(accountOf('gateway'), [verb, resource, name, namespace])).toBe(false);
  });

  test.each<Question>([
    ['list', 'secrets', '', ''],
    ['list', 'secrets', '', 'egress'],
    ['get', 'secrets', 'another', 'egress'],
    ['patch', 'secrets', 'gateway-ca-pool', 'egress'],
    ['get', 'secrets', 'gateway-ca-pool', 'kube-system'],
    ['list', 'configmaps', '', 'egress'],
    ['create', 'deployments.apps', 'gateway', 'egress'],
    ['list', 'deployments.apps', '', 'egress'],
    ['delete', 'egressgateways.leafgate.dev', 'gateway', 'egress'],
    ['delete', 'clustertrustbundles.certificates.k8s.io', 'another:bundle:here', ''],
    ['create', 'clustertrustbundles.certificates.k8s.io', '', ''],
    ['attest', 'signers.certificates.k8s.io', 'egress.example.com/other', ''],
    ['create', 'pods', '', 'egress'],
    ['create', 'serviceaccounts/token', 'gateway', 'egress'],
  ])('do not let the controller %s %s %s', async (verb, resource, name, namespace) => {
    expect(await may(accountOf('controller'), [verb, resource, name, namespace])).toBe(false);
  });
});
