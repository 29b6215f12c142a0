// A mistake in a gateway's policy that only the controller can see: it is said, and the trust of the gateway's clients goes on.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import {
  applyGateway,
  applySecret,
  bundlePath,
  createControllerWorld,
  newPool,
  secretPath,
  waitForBundle,
  waitForReason,
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { gatewaysIn } from '../support/cluster/install-egress-gateways.ts';
import { mustSucceed, type ApiObject } from '../support/cluster/raw-api.ts';
import { waitFor } from '../support/wait-for.ts';

const anchorsOf = (bundle: ApiObject): string => bundle['spec'].trustBundle as string;
/** the definition lets it pass: whether a bit after the prefix is set is too dear to ask of ten thousand hosts */
const wrong = { policy: { default: 'deny', rules: [{ name: 'a', hosts: ['10.1.2.3/8'], verdict: 'tcp' }] } };

describeWithControlPlane('a gateway with a mistake in its policy', {}, (plane) => {
  let world: ControllerWorld;
  beforeEach(async () => {
    world = await createControllerWorld(plane());
    await world.start();
    await applySecret(world, 'pool', { pool: newPool() });
  });
  afterEach(() => world.close());

  const mistaken = async (): Promise<ApiObject> => {
    const reason = await waitForReason(world, 'Ready', 'InvalidSpec');
    expect(reason['message']).toContain('spec.policy.rules[0].hosts[0]: host is "10.1.2.3/8", which is not');
    return waitForBundle(world);
  };

  test('has its bundle made, followed, restored and withdrawn as any other', async () => {
    await applyGateway(world, 'gw', { ...wrong, trustBundle: { retainFor: '0s' } });
    const first = await mistaken();
    await waitForReason(world, 'TrustBundlePublished', 'Published');
    await waitForReason(world, 'CAPoolReady', 'Ready');
    await applySecret(world, 'pool', { pool: newPool() });
    const second = await waitForBundle(world, (now) => anchorsOf(now) !== anchorsOf(first));
    mustSucceed(await world.admin.patch(bundlePath(world), { spec: { trustBundle: anchorsOf(first) } }));
    await waitForBundle(world, (now) => anchorsOf(now) === anchorsOf(second));
    mustSucceed(await world.admin.remove(secretPath(world, 'pool')));
    await waitForReason(world, 'CAPoolReady', 'NotFound');
    await waitFor('the bundle to be gone', async () => (await world.admin.get(bundlePath(world))).status === 404);
  });

  test('keeps the files of the spec before it, and takes the next one that is right', async () => {
    await applyGateway(world);
    const path = `/api/v1/namespaces/${world.namespace}/configmaps/gw-envoy`;
    await waitFor('the files', async () => (await world.admin.get(path)).status === 200);
    const before = mustSucceed(await world.admin.get(path));
    await applyGateway(world, 'gw', wrong);
    await mistaken();
    expect(mustSucceed(await world.admin.get(path))['data']).toEqual(before['data']);
    await applyGateway(world, 'gw', { policy: { default: 'relay' } });
    await waitForReason(world, 'Ready', 'DeploymentNotFound');
    expect(mustSucceed(await world.admin.get(path))['data']['policy.yaml']).toContain('relay');
  });

  test('takes its bundle along when it is deleted', async () => {
    await applyGateway(world, 'gw', wrong);
    await mistaken();
    const path = `${gatewaysIn(world.namespace)}/gw`;
    expect(mustSucceed(await world.admin.get(path))['metadata'].finalizers).toEqual(['leafgate.dev/trust-bundle']);
    mustSucceed(await world.admin.remove(path));
    await waitFor('the gateway to be gone', async () => (await world.admin.get(path)).status === 404);
    expect((await world.admin.get(bundlePath(world))).status).toBe(404);
  });
});
