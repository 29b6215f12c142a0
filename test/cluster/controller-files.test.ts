// The ConfigMap with a gateway's files on a real API server, when others have to do with it.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import {
  applyGateway,
  applySecret,
  createControllerWorld,
  newPool,
  waitForReason,
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { mustSucceed, type ApiObject } from '../support/cluster/raw-api.ts';
import { waitFor } from '../support/wait-for.ts';

describeWithControlPlane('the files of a gateway', {}, (plane) => {
  let world: ControllerWorld;
  beforeEach(async () => {
    world = await createControllerWorld(plane());
    await applySecret(world, 'pool', { pool: newPool() });
  });
  afterEach(() => world.close());

  const path = (): string => `/api/v1/namespaces/${world.namespace}/configmaps/gw-envoy`;
  const files = async (): Promise<ApiObject> => mustSucceed(await world.admin.get(path()));

  test('do not go into a ConfigMap of somebody else, and are written when that is gone', async () => {
    const theirs = {
      ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { 'policy.json': 'theirs', 'envoy.yaml': 'theirs' } },
      metadata: { name: 'gw-envoy', namespace: world.namespace, labels: { app: 'theirs' } },
    };
    const before = mustSucceed(await world.admin.apply(path(), theirs));
    await world.start();
    await applyGateway(world);
    const said = await waitForReason(world, 'Ready', 'FilesNotWritten');
    expect(said['message']).toContain(`ConfigMap ${world.namespace}/gw-envoy is not this gateway's`);
    expect(await files()).toEqual(before);
    mustSucceed(await world.admin.remove(path()));
    await waitForReason(world, 'Ready', 'DeploymentNotFound');
    expect((await files())['metadata'].ownerReferences).toHaveLength(1);
  });

  test('are as they were after an edit by hand, a key that was added included, and then nothing is written', async () => {
    const controller = await world.start({ args: ['--resync', '1s'] });
    await applyGateway(world);
    await waitForReason(world, 'Ready', 'DeploymentNotFound');
    const { data } = await files();
    const labels = { 'leafgate.dev/gateway': null };
    mustSucceed(
      await world.admin.patch(path(), { metadata: { labels }, data: { 'policy.json': '{}', added: 'by hand' } }),
    );
    await waitFor(
      'the files to be restored',
      async () => JSON.stringify((await files())['data']) === JSON.stringify(data),
    );
    const { metadata } = await files();
    expect(metadata.labels).toMatchObject({ 'leafgate.dev/gateway': 'gw' });
    const rounds = (): Promise<number> => controller.metric('leafgate_controller_reconciles_total{outcome="done"}');
    const writes = (): Promise<number> => controller.metric('leafgate_controller_writes_total{what="files",ok="yes"}');
    // a write is in the cluster before it is counted: the round that made it has to end first
    const restored = await rounds();
    await waitFor('that round to end', async () => (await rounds()) >= restored + 2);
    const [begun, written] = [await rounds(), await writes()];
    await waitFor('more rounds', async () => (await rounds()) >= begun + 4);
    expect(await writes()).toBe(written);
  });
});
