// What becomes of a gateway and its bundle when the gateway is deleted, on a real API server.
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
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { gatewaysIn } from '../support/cluster/install-egress-gateways.ts';
import { mustSucceed, type ApiObject } from '../support/cluster/raw-api.ts';
import { createServiceAccount } from '../support/cluster/service-account.ts';
import { mainScript } from '../support/gateway-under-test.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { waitFor } from '../support/wait-for.ts';

describeWithControlPlane('a deleted gateway', {}, (plane) => {
  let world: ControllerWorld;
  beforeEach(async () => {
    world = await createControllerWorld(plane());
  });
  afterEach(() => world.close());

  const gatewayPath = (name = 'gw'): string => `${gatewaysIn(world.namespace)}/${name}`;
  const published = async (spec: ApiObject = {}): Promise<ApiObject> => {
    await applySecret(world, 'pool', { pool: newPool() });
    await applyGateway(world, 'gw', spec);
    await waitForReason(world, 'TrustBundlePublished', 'Published');
    return waitForBundle(world);
  };
  const isGone = async (path: string): Promise<boolean> => (await world.admin.get(path)).status === 404;
  const remove = async (name = 'gw'): Promise<void> => {
    mustSucceed(await world.admin.remove(gatewayPath(name)));
    await waitFor('the gateway to go', () => isGone(gatewayPath(name)), 20_000);
  };

  test('takes its bundle along', async () => {
    await world.start();
    await published();
    await remove();
    expect(await isGone(bundlePath(world))).toBe(true);
  });

  test('leaves its bundle when it says Retain, and one of the same name takes it over', async () => {
    await world.start();
    const bundle = await published({ trustBundle: { deletionPolicy: 'Retain' } });
    await remove();
    const left = await waitForBundle(world);
    expect(left['metadata'].uid).toBe(bundle['metadata'].uid);
    const serving = { servingTLS: { secretName: 'serving' }, trustBundle: { deletionPolicy: 'Retain' } };
    const again = await applyGateway(world, 'gw', serving);
    const taken = await waitForBundle(
      world,
      (now) => now['metadata'].annotations['leafgate.dev/gateway-uid'] === again['metadata'].uid,
    );
    expect(taken['metadata'].uid).toBe(bundle['metadata'].uid);
    expect(taken['spec']).toEqual(bundle['spec']);
  });

  test('is let go, and leaves the bundle of another alone', async () => {
    await world.start();
    const bundle = await published();
    await applySecret(world, 'other-pool', { pool: newPool() });
    await applyGateway(world, 'second', { caPool: { secretName: 'other-pool' }, trustBundle: { name: 'gw' } });
    await waitForReason(world, 'TrustBundlePublished', 'Conflict', { name: 'second' });
    await remove('second');
    expect((await waitForBundle(world))['metadata'].uid).toBe(bundle['metadata'].uid);
  });

  test('is let go also when the controller may not delete its bundle, which an event says', async () => {
    const { namespaced, cluster = [] } = documentedRules(world.namespace, world.domain);
    const lesser = cluster.map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => verb !== 'delete') }));
    const rules = { ...(namespaced === undefined ? {} : { namespaced }), cluster: lesser };
    const account = await createServiceAccount(plane(), { namespace: world.namespace, name: 'lesser' }, rules);
    await world.start({ account });
    await published();
    await remove();
    await waitForBundle(world);
    await waitFor('the event', async () => {
      const { items } = mustSucceed(
        await world.admin.get(`/apis/events.k8s.io/v1/namespaces/${world.namespace}/events`),
      );
      return (items as readonly ApiObject[]).some(({ reason }) => reason === 'TrustBundleLeft');
    });
  });

  test('whose spec cannot be read any more still takes its bundle along', async () => {
    await world.start();
    await published();
    // a controller of another version may read less than the API server takes
    const broken = {
      spec: { policy: { default: 'deny', rules: [{ name: 'twice', hosts: ['a.b', 'a.b.'], verdict: 'tcp' }] } },
    };
    await world.admin.patch(gatewayPath(), broken);
    await remove();
    expect(await isGone(bundlePath(world))).toBe(true);
  });

  test('waits while no controller runs, and is let go by --release, which leaves its bundle', async () => {
    const controller = await world.start();
    await published();
    await controller.stop();
    mustSucceed(await world.admin.remove(gatewayPath()));
    expect((await world.admin.get(gatewayPath())).status).toBe(200);
    const args = [
      'controller',
      '--release',
      '--namespace',
      world.namespace,
      '--kubeconfig',
      world.account.kubeconfigFile,
    ];
    const options = { env: scrubbedEnvironment(plane().dir) };
    const { stdout, status } = await runCommand(process.execPath, [mainScript, ...args], options);
    expect({ stdout, status }).toEqual({ stdout: `${world.namespace}/gw: let go\n`, status: 0 });
    await waitFor('the gateway to go', () => isGone(gatewayPath()));
    await waitForBundle(world);
  });
});
