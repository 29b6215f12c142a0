// The client's calls as a real API server takes them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { epoch, systemClock } from '../../src/clock.ts';
import { createEventRecorder } from '../../src/kube/event-recorder.ts';
import { bundleResource, findBundleVersion } from '../../src/kube/find-bundle-version.ts';
import { kubeFailureOf } from '../../src/kube/kube-failure.ts';
import type { KubeFailure } from '../../src/kube/kube-failure.ts';
import type { KubeClient, KubeObject, KubeResource } from '../../src/kube/kube-types.ts';
import { startControlPlane } from '../support/cluster/control-plane.ts';
import type { ServingMode } from '../support/cluster/control-plane.ts';
import { describeWithControlPlane, describeWithControlPlanes } from '../support/cluster/describe-with-control-plane.ts';
import { followListening, kubeClientFor } from '../support/cluster/kube-client-for.ts';
import { apiAs, mustSucceed, type ApiObject } from '../support/cluster/raw-api.ts';
import { createNamespace, createServiceAccount, freshName } from '../support/cluster/service-account.ts';
import { createListeningLog, secrets } from '../support/kube-world.ts';
import { createTestAuthority } from '../support/test-certificates.ts';
import { waitFor } from '../support/wait-for.ts';

const bundles = bundleResource('v1');
const signerName = 'kube-client.test/mitm';
const configMaps: KubeResource = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  isNamespaced: true,
};

async function failureOf(call: Promise<unknown>): Promise<KubeFailure> {
  const thrown: unknown = await call.then(
    () => new Error('it succeeded'),
    (reason: unknown) => reason,
  );
  return kubeFailureOf(thrown);
}

function bundle(name: string, trustBundle: string): KubeObject {
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'ClusterTrustBundle',
    metadata: { name },
    spec: { signerName, trustBundle },
  };
}

describeWithControlPlane('a client of a real API server', { users: ['alice'] }, (plane) => {
  let client: KubeClient;
  let namespace: string;
  beforeAll(async () => {
    client = await kubeClientFor(plane().user('admin'));
    namespace = await createNamespace(plane());
  });
  afterAll(() => client.close());

  const secret = (name: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    type: 'Opaque',
    data: { pool: Buffer.from('private').toString('base64') },
  });

  test('makes, reads, lists, patches, replaces and removes an object', async () => {
    const place = { resource: secrets, namespace, name: 'pool' };
    expect(await client.get(place)).toBeUndefined();
    const made = await client.create(place, secret('pool'));
    expect(await failureOf(client.create(place, secret('pool')))).toMatchObject({ kind: 'already-exists' });
    expect(await client.get(place)).toEqual(made);
    expect((await client.list({ resource: secrets, namespace, name: 'pool' })).items).toEqual([made]);
    const patched = await client.mergePatch(place, { metadata: { labels: { a: 'b' } } }, { fieldManager: 'm' });
    expect(patched.metadata.labels).toEqual({ a: 'b' });
    expect(await failureOf(client.replace(place, made))).toMatchObject({ kind: 'conflict' });
    expect((await client.replace(place, patched)).metadata.uid).toBe(made.metadata.uid);
    expect(await failureOf(client.remove(place, { uid: 'another' }))).toMatchObject({ kind: 'conflict' });
    expect(await client.remove(place, { uid: made.metadata.uid ?? '' })).toBe('removed');
    expect(await client.remove(place)).toBe('absent');
  });

  test('lists page by page what does not fit one', async () => {
    const other = await createNamespace(plane());
    const api = apiAs(plane(), plane().user('admin'));
    const item = (index: number) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c${index}` } });
    for (let index = 0; index < 205; index += 1) {
      mustSucceed(await api.post(`/api/v1/namespaces/${other}/configmaps`, item(index)));
    }
    api.close();
    const list = await client.list({ resource: configMaps, namespace: other });
    expect(new Set(list.items.map(({ metadata }) => metadata.name)).size).toBe(205);
  });

  test('applies under its own manager, without a write when nothing changed, and by force only when told', async () => {
    const name = `kube-client.test:mitm:${freshName('b')}`;
    const place = { resource: bundles, name };
    const [one, other] = [createTestAuthority().pem, createTestAuthority().pem];
    expect(await client.apply(place, bundle(name, one), { fieldManager: 'x', dryRun: true })).toBeDefined();
    expect(await client.get(place)).toBeUndefined();
    const first = await client.apply(place, bundle(name, one), { fieldManager: 'leafgate-bundle' });
    const again = await client.apply(place, bundle(name, one), { fieldManager: 'leafgate-bundle' });
    expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    const conflict = await failureOf(client.apply(place, bundle(name, other), { fieldManager: 'somebody' }));
    expect(conflict).toMatchObject({
      kind: 'conflict',
      causes: [{ reason: 'FieldManagerConflict', field: '.spec.trustBundle' }],
    });
    await client.apply(place, bundle(name, other), { fieldManager: 'somebody', force: true });
    const broken = await failureOf(client.apply(place, bundle(name, 'no PEM'), { fieldManager: 'x', force: true }));
    expect(broken).toMatchObject({ kind: 'invalid', causes: [{ field: 'spec.trustBundle' }] });
    const large = await failureOf(
      client.apply(place, bundle(name, '#'.repeat(4 * 1024 * 1024)), { fieldManager: 'x', force: true }),
    );
    expect(large.kind).toBe('too-large');
  });

  test('asks what it may do, and says what it may not', async () => {
    const alice = await kubeClientFor(plane().user('alice'));
    expect(await client.mayI({ group: '', resource: 'secrets', verb: 'get' })).toMatchObject({ allowed: true });
    expect(await alice.mayI({ group: '', resource: 'secrets', verb: 'get', namespace })).toEqual({ allowed: false });
    const refused = await failureOf(alice.get({ resource: secrets, namespace, name: 'pool' }));
    expect(refused).toMatchObject({ kind: 'forbidden' });
    expect(refused.message).toContain('User "alice" cannot get resource "secrets"');
    await alice.close();
  });

  test('tells a resource that is not served from an object that is not there', async () => {
    const gateways = { group: 'none.example', version: 'v1', plural: 'things', kind: 'Thing', isNamespaced: true };
    expect(await failureOf(client.get({ resource: gateways, namespace, name: 'a' }))).toMatchObject({
      kind: 'not-found',
    });
    expect(await client.resourcesOf('none.example/v1')).toBeUndefined();
    expect(await client.resourcesOf('v1')).toContain('secrets');
  });

  test('follows one Secret that does not exist yet, under a role that names it', async () => {
    const rule = { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'], resourceNames: ['mine'] };
    const account = await createServiceAccount(
      plane(),
      { namespace, name: 'reader' },
      { namespaced: { [namespace]: [rule] } },
    );
    const reader = await kubeClientFor(account);
    const mine = { resource: secrets, namespace, name: 'mine' };
    const { follower, told } = followListening(reader, mine);
    await waitFor('the empty list', () => follower.isSynced());
    await client.create({ ...mine, name: 'other' }, secret('other'));
    await client.create(mine, secret('mine'));
    await client.remove(mine);
    await waitFor('what came later than the follower', () => told.length === 2);
    expect(told).toEqual(['put mine', 'gone mine']);
    await follower.close();
    expect(await failureOf(reader.list({ resource: secrets, namespace }))).toMatchObject({ kind: 'forbidden' });
    await reader.close();
  });

  test('writes Events that validation accepts, of objects in namespaces and of the cluster, and counts them', async () => {
    const log = createListeningLog();
    const recorder = createEventRecorder({
      client,
      clock: { ...systemClock, now: () => epoch(Date.now()) },
      random: Math.random,
      log,
      controller: 'leafgate.dev/controller',
      instance: 'pod-1',
    });
    const name = `kube-client.test:mitm:${freshName('e')}`;
    const about = { type: 'Warning', reason: 'Rejected', action: 'Publish', note: 'é'.repeat(2000) } as const;
    const ofCluster = { apiVersion: 'certificates.k8s.io/v1', kind: 'ClusterTrustBundle', name, uid: 'u1' };
    const inNamespace = { apiVersion: 'v1', kind: 'Secret', name: 'pool', namespace, uid: 'u2' };
    for (let turn = 0; turn < 3; turn += 1) recorder.record({ ...about, regarding: ofCluster });
    recorder.record({ ...about, regarding: inNamespace });
    await recorder.close();
    expect(log.lines).toEqual([]);
    const api = apiAs(plane(), plane().user('admin'));
    const read = async (where: string): Promise<readonly ApiObject[]> => {
      const list = mustSucceed(await api.get(`/apis/events.k8s.io/v1/namespaces/${where}/events`));
      return list['items'] as readonly ApiObject[];
    };
    expect((await read('default')).filter((found) => found['regarding'].name === name)).toMatchObject([
      { reason: 'Rejected', series: { count: 2 } },
    ]);
    expect(await read(namespace)).toHaveLength(1);
    api.close();
  });
});

describeWithControlPlanes('the version of ClusterTrustBundle', [], () => {
  test.each([
    ['v1', 'v1'],
    ['v1+v1beta1', 'v1'],
    ['v1beta1', 'v1beta1'],
    ['v1beta1+v1alpha1', 'v1beta1'],
    ['none', undefined],
  ] as const)('where %s is served is %s', async (serving: ServingMode, version) => {
    const plane = await startControlPlane({ serving, users: ['nobody-in-particular'] });
    try {
      // discovery needs no rights on the resource
      const client = await kubeClientFor(plane.user('nobody-in-particular'));
      expect(await findBundleVersion(client)).toBe(version);
      await client.close();
    } finally {
      await plane.stop();
    }
  });
});
