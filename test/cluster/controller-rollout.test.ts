// A change of what pods read only at their start makes new pods, and no other change does.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import {
  applyDeployment,
  applyGateway,
  applySecret,
  createControllerWorld,
  newPool,
  waitForReason,
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { mustSucceed, type ApiObject } from '../support/cluster/raw-api.ts';
import { waitFor } from '../support/wait-for.ts';

const annotation = 'leafgate.dev/constant-files';

describeWithControlPlane('the Deployment of a gateway', {}, (plane) => {
  let world: ControllerWorld;
  beforeEach(async () => {
    world = await createControllerWorld(plane());
    await world.start();
    await applySecret(world, 'pool', { pool: newPool() });
    await applyDeployment(world);
  });
  afterEach(() => world.close());

  const path = (): string => `/apis/apps/v1/namespaces/${world.namespace}/deployments/gw`;
  const digest = async (): Promise<string | undefined> => {
    const object: ApiObject = mustSucceed(await world.admin.get(path()));
    return object['spec'].template.metadata.annotations?.[annotation] as string | undefined;
  };
  const policyText = async (gateway: string): Promise<string> => {
    const at = `/api/v1/namespaces/${world.namespace}/configmaps/${gateway}-envoy`;
    const { body } = await world.admin.get(at);
    return String(body?.['data']?.['policy.yaml']);
  };

  test('gets new pods for another port, and keeps them for another policy', async () => {
    await applyGateway(world);
    await waitForReason(world, 'Ready', 'Ready');
    const first = await digest();
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    await applyGateway(world, 'gw', { policy: { default: 'relay' } });
    await waitFor('the policy', async () => (await policyText('gw')).includes('relay'));
    expect(await digest()).toBe(first);
    await applyGateway(world, 'gw', { listener: { port: 8080 } });
    await waitFor('new pods', async () => (await digest()) !== first);
  });

  test('is one gateway’s: another that names it is told, has its files, and leaves the pods alone', async () => {
    await applyGateway(world);
    await waitForReason(world, 'Ready', 'Ready');
    const first = await digest();
    await applySecret(world, 'other-pool', { pool: newPool() });
    const other = { caPool: { secretName: 'other-pool' }, deploymentName: 'gw', listener: { port: 8080 } };
    await applyGateway(world, 'second', other);
    const said = await waitForReason(world, 'Ready', 'DeploymentTaken', { name: 'second' });
    expect(said['message']).toContain(`Deployment ${world.namespace}/gw is that of the gateway gw`);
    await waitFor('its files', async () => (await policyText('second')).includes('deny'));
    expect(await digest()).toBe(first);
  });

  test('is left alone as long as it does not mount the files, since it may be somebody else’s', async () => {
    await applyDeployment(world, 'gw', 'their-settings');
    const before = mustSucceed(await world.admin.get(path()))['metadata'].resourceVersion as string;
    await applyGateway(world);
    const said = await waitForReason(world, 'Ready', 'DeploymentWithoutFiles');
    expect(said['message']).toContain(`Deployment ${world.namespace}/gw does not mount the ConfigMap gw-envoy`);
    await waitFor('its files', async () => (await policyText('gw')).includes('deny'));
    expect(mustSucceed(await world.admin.get(path()))['metadata'].resourceVersion).toBe(before);
    await applyDeployment(world);
    await waitForReason(world, 'Ready', 'Ready', { deadlineMs: 40_000 });
    expect(await digest()).toMatch(/^[0-9a-f]{64}$/);
  });
});
