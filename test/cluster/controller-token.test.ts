// The controller's token changes, ends and comes back while it works: on a real API server, with tokens that are revoked by the
// Secret to which they are bound.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import {
  applyGateway,
  applySecret,
  createControllerWorld,
  newPool,
  secretPath,
  waitForBundle,
  waitForReason,
  type ControllerUnderTest,
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { apiAs, mustSucceed, type ApiObject } from '../support/cluster/raw-api.ts';
import { waitFor } from '../support/wait-for.ts';

const anchorsOf = (bundle: ApiObject): string => bundle['spec'].trustBundle as string;

/** each waits for what Kubernetes does at its own pace */
const testDeadlineMs = 150_000;

describeWithControlPlane('a controller whose token ends', {}, (plane) => {
  let world: ControllerWorld;
  let controller: ControllerUnderTest;
  let published: string;
  /** ends with the Secret `binding` */
  let token: string;
  beforeEach(async () => {
    world = await createControllerWorld(plane());
    const { metadata } = await applySecret(world, 'binding', {});
    token = await world.account.renewToken({ name: 'binding', uid: metadata.uid as string });
    await applySecret(world, 'pool', { pool: newPool() });
    controller = await world.start();
    await applyGateway(world);
    await waitForReason(world, 'TrustBundlePublished', 'Published');
    published = anchorsOf(await waitForBundle(world));
  });
  afterEach(() => world.close());

  const revoke = async (): Promise<void> => {
    mustSucceed(await world.admin.remove(secretPath(world, 'binding')));
    const api = apiAs(plane(), { token });
    try {
      await waitFor('the token to be refused', async () => (await api.get('/version')).status === 401, 30_000);
    } finally {
      api.close();
    }
  };
  const isLeader = async (): Promise<boolean> => (await controller.metric('leafgate_controller_is_leader')) === 1;

  test(
    'goes on without a word when another stood in its file before',
    async () => {
      await world.account.renewToken();
      await revoke();
      await applySecret(world, 'pool', { pool: newPool() });
      await waitForBundle(world, (now) => anchorsOf(now) !== published);
      expect(controller.process.stderr()).not.toContain('kube-unauthorized');
    },
    testDeadlineMs,
  );

  test(
    'says so, asks again at its leisure, and goes on as soon as there is another',
    async () => {
      await revoke();
      const since = new Date().toISOString();
      await controller.process.waitForOutput(/kube-unauthorized/, 30_000);
      await waitFor('it to lead no more', async () => !(await isLeader()), 30_000);
      await applySecret(world, 'pool', { pool: newPool() });
      expect((await controller.health('/livez')).status).toBe(200);
      expect((await controller.health('/readyz')).status).toBe(200);
      const refused = (await plane().requestsOf('')).filter(({ status, at }) => status === 401 && at > since);
      const seconds = (Date.now() - Date.parse(since)) / 1000;
      // renewals of the Lease every two seconds, and rounds ever more seldom
      expect(refused.length).toBeLessThan(20 + 5 * seconds);
      expect(anchorsOf(await waitForBundle(world))).toBe(published);
      await world.account.renewToken();
      await waitForBundle(world, (now) => anchorsOf(now) !== published, { deadlineMs: 40_000 });
      await waitFor('it to lead', isLeader);
    },
    testDeadlineMs,
  );
});
