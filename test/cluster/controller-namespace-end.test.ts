// What the controller does when a namespace that it works in is deleted: on a real API server, with the test in the part of the
// namespace controller, which deletes what is in the namespace in an order that nobody can foresee.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import {
  applyGateway,
  applySecret,
  bundlePath,
  createControllerWorld,
  documentedRules,
  newPool,
  waitForBundle,
  waitForReason,
  type ControllerUnderTest,
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { gatewaysIn } from '../support/cluster/install-egress-gateways.ts';
import { mustSucceed } from '../support/cluster/raw-api.ts';
import {
  allow,
  createNamespace,
  createServiceAccount,
  type AccountAccess,
} from '../support/cluster/service-account.ts';
import { waitFor } from '../support/wait-for.ts';

type Rule = ReturnType<typeof documentedRules>['cluster'] extends readonly (infer One)[] | undefined ? One : never;

const rbac = '/apis/rbac.authorization.k8s.io/v1';

/** each waits for what Kubernetes does at its own pace */
const testDeadlineMs = 150_000;

describeWithControlPlane('a namespace that is deleted', {}, (plane) => {
  /** the one that goes */
  let world: ControllerWorld;
  /** as a world: another namespace of the same controller */
  let other: ControllerWorld;
  let home: string;
  let account: AccountAccess;
  let controller: ControllerUnderTest;
  beforeEach(async () => {
    world = await createControllerWorld(plane());
    const [homeOfController, staying] = [await createNamespace(plane()), await createNamespace(plane())];
    home = homeOfController;
    other = { ...world, namespace: staying };
    account = await createServiceAccount(plane(), { namespace: home, name: 'controller' }, rulesOf(world, other, home));
    controller = await world.start({
      account,
      signers: [world, other].map(({ namespace, domain }) => `${namespace}=${domain}/*`),
      args: ['--namespace', staying, '--lease-namespace', home],
    });
    await applySecret(world, 'pool', { pool: newPool() });
    await applyGateway(world);
    await waitForReason(world, 'Ready', 'DeploymentNotFound');
    mustSucceed(await world.admin.remove(`/api/v1/namespaces/${world.namespace}`));
  });
  afterEach(() => world.close());

  const inNamespace = (api: string, plural: string): string => `${api}/namespaces/${world.namespace}/${plural}`;
  const clear = async (...paths: readonly string[]): Promise<void> => {
    for (const path of paths) mustSucceed(await world.admin.remove(path));
  };
  const clearRights = (): Promise<void> => clear(inNamespace(rbac, 'rolebindings'), inNamespace(rbac, 'roles'));
  const clearGateways = (): Promise<void> => clear(gatewaysIn(world.namespace));
  const clearRest = (): Promise<void> => clear(inNamespace('/api/v1', 'secrets'), inNamespace('/api/v1', 'configmaps'));
  const isGone = async (path: string): Promise<boolean> => (await world.admin.get(path)).status === 404;
  const gatewayToGo = (): Promise<boolean> =>
    waitFor('the gateway to go', () => isGone(`${gatewaysIn(world.namespace)}/gw`), 40_000);
  const bundleToGo = (): Promise<boolean> => waitFor('the bundle to go', () => isGone(bundlePath(world)), 20_000);

  /** what is left of it */
  const finish = async (): Promise<void> => {
    const path = `/api/v1/namespaces/${world.namespace}`;
    const { spec, ...rest } = mustSucceed(await world.admin.get(path));
    mustSucceed(await world.admin.put(`${path}/finalize`, { ...rest, spec: { ...spec, finalizers: [] } }));
    await waitFor('the namespace to go', () => isGone(path));
  };
  /** of the Lease: one every two seconds */
  const renewals = async (count: number): Promise<void> => {
    const seen = new Set<string>();
    await waitFor(
      'renewals of the Lease',
      async () => {
        const path = `/apis/coordination.k8s.io/v1/namespaces/${home}/leases/leafgate-controller`;
        seen.add(mustSucceed(await world.admin.get(path))['spec'].renewTime as string);
        return seen.size > count;
      },
      30_000,
    );
  };
  /** the other namespace is served as before, and nothing runs hot */
  const goesOn = async (): Promise<void> => {
    const before = await plane().requestsOf(account.user);
    await applySecret(other, 'pool', { pool: newPool() });
    await applyGateway(other, 'second');
    await waitForBundle(other, () => true, { name: 'second' });
    // time for what would run hot
    await renewals(3);
    const since = (await plane().requestsOf(account.user)).slice(before.length);
    expect(since.filter(({ resource }) => resource !== 'leases').length).toBeLessThan(80);
  };

  test(
    'has its bundle withdrawn and its gateway let go, and then nothing is asked of it any more',
    async () => {
      await clearGateways();
      await gatewayToGo();
      expect(await isGone(bundlePath(world))).toBe(true);
      await clearRights();
      await clearRest();
      await finish();
      await goesOn();
    },
    testDeadlineMs,
  );

  test(
    'takes its Secrets and files first, says why nothing is written, and the gateway goes all the same',
    async () => {
      await clear(inNamespace('/api/v1', 'configmaps'));
      const said = await waitForReason(world, 'Ready', 'FilesNotWritten');
      expect(said['message']).toContain('because it is being terminated');
      expect(said['message']).not.toContain('has no rule');
      await clear(inNamespace('/api/v1', 'secrets'));
      await waitForReason(world, 'CAPoolReady', 'NotFound');
      await clearGateways();
      await gatewayToGo();
      expect(await isGone(bundlePath(world))).toBe(true);
      await clearRights();
      await finish();
      await goesOn();
    },
    testDeadlineMs,
  );

  test(
    'takes the rights first: the bundle is withdrawn, and the gateway goes by a rule for the whole cluster',
    async () => {
      await clearRights();
      await clearGateways();
      await bundleToGo();
      await controller.process.waitForOutput(/cannot patch resource \\"egressgateways\\"/);
      expect(await isGone(`${gatewaysIn(world.namespace)}/gw`)).toBe(false);
      await goesOn();
      // no Role can be made in a namespace that is being deleted
      const rule = { apiGroups: ['leafgate.dev'], resources: ['egressgateways'], verbs: ['patch'] };
      const subject = { kind: 'ServiceAccount', namespace: home, name: 'controller' } as const;
      await allow(plane(), subject, { cluster: [rule] });
      await gatewayToGo();
    },
    testDeadlineMs,
  );
});

/** as the shipped manifests have it: the Lease is where the controller is */
function rulesOf(world: ControllerWorld, other: ControllerWorld, home: string) {
  const { namespaced = {}, cluster = [] } = documentedRules(world.namespace, world.domain);
  const isLease = ({ resources }: Rule): boolean => resources.includes('leases');
  const rules = namespaced[world.namespace] ?? [];
  const working = rules.filter((rule) => !isLease(rule));
  return {
    namespaced: { [home]: rules.filter(isLease), [world.namespace]: working, [other.namespace]: working },
    cluster,
  };
}
