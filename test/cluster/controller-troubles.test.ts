// The controller before an API server that forgets versions and refuses requests while there is work: what it publishes is right
// in the end, and what it asks meanwhile stays bounded.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { forgetOldVersions, oneRequestAtATime, takeThePlace } from '../support/cluster/api-troubles.ts';
import type { ApiRequest } from '../support/cluster/audit-log.ts';
import { kubeconfigWithToken } from '../support/cluster/cluster-pki.ts';
import {
  applyGateway,
  applySecret,
  changePool,
  createControllerWorld,
  newPool,
  waitForReason,
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { startCuttableWire, type CuttableWire } from '../support/cluster/cuttable-wire.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { apiAs } from '../support/cluster/raw-api.ts';
import { allow } from '../support/cluster/service-account.ts';
import { waitFor } from '../support/wait-for.ts';

/** waits grow with each trouble in a row */
const [deadlineMs, testDeadlineMs] = [90_000, 180_000];

describeWithControlPlane('a controller whose watches are cut', { flags: ['--watch-cache=false'] }, (plane) => {
  let world: ControllerWorld;
  let wire: CuttableWire;
  beforeEach(async () => {
    world = await createControllerWorld(plane());
    wire = await startCuttableWire(plane().url);
    const { tokenFile, folder } = world.account;
    const kubeconfigFile = join(folder, 'through-wire');
    writeFileSync(kubeconfigFile, kubeconfigWithToken({ url: wire.url, caFile: plane().caFile, tokenFile }));
    await applySecret(world, 'pool', { pool: newPool() });
    await world.start({ account: { ...world.account, kubeconfigFile } });
    await applyGateway(world);
    await waitForReason(world, 'TrustBundlePublished', 'Published');
  });
  afterEach(async () => {
    await world.close();
    await wire.close();
  });

  test(
    'and whose versions are forgotten again and again lists anew, and publishes the last pool',
    async () => {
      const before = await plane().requestsOf(world.account.user);
      const listsOf = (requests: readonly ApiRequest[]): number =>
        requests.filter(({ verb, resource }) => verb === 'list' && resource === 'secrets').length;
      for (let round = 0; round < 3; round += 1) {
        await changePool(world, deadlineMs);
        await forgetOldVersions(plane());
        wire.cut();
      }
      await changePool(world, deadlineMs);
      await waitForReason(world, 'TrustBundlePublished', 'Published');
      const since = (await plane().requestsOf(world.account.user)).slice(before.length);
      // a watch that can go on from where it was needs none
      expect(listsOf(since)).toBeGreaterThanOrEqual(2);
      expect(since.filter(({ resource }) => resource !== 'leases').length).toBeLessThan(200);
    },
    testDeadlineMs,
  );
});

const path = '/api/v1/namespaces/default/configmaps';

describeWithControlPlane('a controller', { flags: oneRequestAtATime, users: ['alice'] }, (plane) => {
  let world: ControllerWorld;
  beforeEach(async () => {
    world = await createControllerWorld(plane());
    await applySecret(world, 'pool', { pool: newPool() });
  });
  afterEach(() => world.close());

  test(
    'whose requests are refused as too many while it has work does it when it may, and asks little meanwhile',
    async () => {
      const rule = { apiGroups: [''], resources: ['configmaps'], verbs: ['list'] };
      await allow(plane(), { kind: 'User', name: 'alice' }, { namespaced: { default: [rule] } });
      const alice = apiAs(plane(), plane().user('alice'));
      const requests = (): Promise<readonly ApiRequest[]> => plane().requestsOf(world.account.user);
      const isRefused = ({ status }: ApiRequest): boolean => status === 429;
      await world.start();
      // a dozen seconds with hardly a moment that is free
      const taken = (async () => {
        for (let turn = 0; turn < 4; turn += 1) await takeThePlace(alice, path);
      })();
      await applyGateway(world);
      await applySecret(world, 'pool', { pool: newPool() });
      await waitFor('requests to be refused', async () => (await requests()).some(isRefused), 30_000);
      await taken;
      alice.close();
      await changePool(world, deadlineMs);
      await waitForReason(world, 'TrustBundlePublished', 'Published');
      const asked = (await requests()).filter(({ verb }) => verb !== 'create');
      expect(asked.filter(isRefused).length).toBeLessThan(80);
      expect(asked.length).toBeLessThan(200);
    },
    testDeadlineMs,
  );
});
