// Two controllers with namespaces of their own beside each other on one real API server: each does its work, and neither touches
// what is the other's.
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  applyGateway,
  applySecret,
  bundlePath,
  changePool,
  createControllerWorld,
  documentedRules,
  newPool,
  waitForBundle,
  waitForReason,
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { gatewaysIn } from '../support/cluster/install-egress-gateways.ts';
import { mustSucceed, type ApiObject } from '../support/cluster/raw-api.ts';
import { allow } from '../support/cluster/service-account.ts';
import { waitFor } from '../support/wait-for.ts';

const ownerOf = (bundle: ApiObject): string => bundle['metadata'].annotations['leafgate.dev/gateway'] as string;

describeWithControlPlane('two controllers side by side', {}, (plane) => {
  let one: ControllerWorld;
  let other: ControllerWorld;
  beforeEach(async () => {
    one = await createControllerWorld(plane());
    other = await createControllerWorld(plane());
  });
  afterEach(async () => {
    await one.close();
    await other.close();
  });

  test('with signers of their own each publish their gateways, and neither asks about what is the other’s', async () => {
    await Promise.all([one, other].map((world) => world.start()));
    for (const world of [one, other]) {
      await applyGateway(world);
      await changePool(world);
    }
    // both work at once, and both go on
    await Promise.all([one, other].map((world) => changePool(world)));
    mustSucceed(await one.admin.remove(bundlePath(one)));
    await waitForBundle(one);
    for (const [world, foreign] of [
      [one, other],
      [other, one],
    ] as const) {
      const asked = await plane().requestsOf(world.account.user);
      expect(asked.filter(({ namespace }) => namespace === foreign.namespace)).toEqual([]);
      expect(asked.filter(({ name }) => name?.startsWith(foreign.domain))).toEqual([]);
      expect(asked.filter(({ status = 200 }) => status === 403)).toEqual([]);
    }
  });

  test('with the same signer leave the bundle to the gateway that had it first, and hand it over when that goes', async () => {
    // the second may publish under the domain of the first as well, which the namespaces of two teams may well do
    const { cluster = [] } = documentedRules(other.namespace, one.domain);
    await allow(plane(), { kind: 'ServiceAccount', namespace: other.namespace, name: 'controller' }, { cluster });
    await one.start();
    await applyGateway(one);
    const first = await changePool(one);
    await other.start({ signers: [`${other.namespace}=${one.domain}/*`] });
    await applySecret(other, 'pool', { pool: newPool() });
    const guest = { ...other, domain: one.domain, signerName: one.signerName };
    await applyGateway(guest);
    const said = await waitForReason(other, 'TrustBundlePublished', 'Conflict');
    expect(said['message']).toContain(`belongs to the gateway ${one.namespace}/gw`);
    expect(said['message']).toContain('in a namespace that this controller does not watch');
    expect((await waitForBundle(one))['spec']).toEqual(first['spec']);
    // its own deletion takes nothing along
    mustSucceed(await other.admin.remove(`${gatewaysIn(other.namespace)}/gw`));
    const isGone = async (path: string): Promise<boolean> => (await one.admin.get(path)).status === 404;
    await waitFor('the guest to go', () => isGone(`${gatewaysIn(other.namespace)}/gw`), 20_000);
    expect(ownerOf(await waitForBundle(one))).toBe(`${one.namespace}/gw`);
    await applyGateway(guest);
    await waitForReason(other, 'TrustBundlePublished', 'Conflict');
    mustSucceed(await one.admin.remove(`${gatewaysIn(one.namespace)}/gw`));
    await waitForBundle(one, (bundle) => ownerOf(bundle) === `${other.namespace}/gw`, { deadlineMs: 40_000 });
    await waitForReason(other, 'TrustBundlePublished', 'Published');
  });
});
