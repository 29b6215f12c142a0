// What the controller publishes on a real API server, keeps, restores and withdraws.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import {
  applyGateway,
  applySecret,
  bundlePath,
  conditionOf,
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

describeWithControlPlane('a published bundle', {}, (plane) => {
  let world: ControllerWorld;
  beforeEach(async () => {
    world = await createControllerWorld(plane());
  });
  afterEach(() => world.close());

  /** a gateway whose bundle is out */
  const published = async (spec: ApiObject = {}): Promise<ApiObject> => {
    await applySecret(world, 'pool', { pool: newPool() });
    await applyGateway(world, 'gw', spec);
    await waitForReason(world, 'TrustBundlePublished', 'Published');
    return waitForBundle(world);
  };

  test('has the anchors of the pool, and the gateway says so', async () => {
    await world.start();
    const bundle = await published();
    expect(anchorsOf(bundle).match(/BEGIN CERTIFICATE/g)).toHaveLength(1);
    expect(bundle['metadata'].annotations['leafgate.dev/gateway']).toBe(`${world.namespace}/gw`);
    const { status } = mustSucceed(await world.admin.get(`${gatewaysIn(world.namespace)}/gw`)) as { status: ApiObject };
    expect(status['bundle']).toMatchObject({ objectName: `${world.domain}:mitm:gw`, anchors: [{ id: /^ca-/ }] });
    expect((await waitForReason(world, 'CAPoolReady', 'Ready'))['observedGeneration']).toBe(1);
    // nobody has made a Deployment here
    await waitForReason(world, 'Ready', 'DeploymentNotFound');
  });

  test('is restored after an edit and after a deletion by hand', async () => {
    await world.start();
    const bundle = await published();
    const other = await applyOtherAnchors(world);
    expect(other).not.toBe(anchorsOf(bundle));
    await waitForBundle(world, (now) => anchorsOf(now) === anchorsOf(bundle));
    const annotations = { 'leafgate.dev/gateway': `${world.namespace}/nobody` };
    mustSucceed(await world.admin.patch(bundlePath(world), { metadata: { annotations } }));
    await waitForBundle(
      world,
      (now) => now['metadata'].annotations['leafgate.dev/gateway'] === `${world.namespace}/gw`,
    );
    mustSucceed(await world.admin.remove(bundlePath(world)));
    await waitForBundle(world, (now) => anchorsOf(now) === anchorsOf(bundle));
  });

  test('follows the pool', async () => {
    await world.start();
    const bundle = await published();
    await applySecret(world, 'pool', { pool: newPool() });
    await waitForBundle(world, (now) => anchorsOf(now) !== anchorsOf(bundle));
  });

  test('stays as it was while the pool is no good', async () => {
    await world.start();
    const bundle = await published();
    await applySecret(world, 'pool', { pool: '{"CAs":[{"ID":"broken"}]}' });
    await waitForReason(world, 'CAPoolReady', 'Malformed');
    const said = await waitForReason(world, 'TrustBundlePublished', 'Published');
    expect(said['message']).toMatch(/stays as it was last published/);
    expect(anchorsOf(await waitForBundle(world))).toBe(anchorsOf(bundle));
    await waitForReason(world, 'Ready', 'CAPoolNotReady');
  });

  test('is withdrawn when the pool has been gone for long enough, also over a restart of the controller', async () => {
    const first = await world.start();
    await published({ trustBundle: { retainFor: '60s' } });
    mustSucceed(await world.admin.remove(secretPath(world, 'pool')));
    const said = await waitForReason(world, 'CAPoolReady', 'NotFound');
    expect(said['message']).toContain('pool create');
    const waiting = await waitForBundle(world, (now) => goneSince(now) !== '');
    await first.stop();
    // an hour ago, as if nobody had been there since
    const longAgo = new Date(Date.parse(goneSince(waiting)) - 3_600_000).toISOString().replace(/\.\d+/, '');
    const annotations = { 'leafgate.dev/pool-gone-since': longAgo };
    mustSucceed(await world.admin.patch(bundlePath(world), { metadata: { annotations } }));
    await world.start();
    await waitFor('the bundle to go', async () => (await world.admin.get(bundlePath(world))).status === 404);
    await waitForReason(world, 'TrustBundlePublished', 'PoolNotReady');
  });

  test('stays for a while when the pool goes, and is as before when it comes back', async () => {
    await world.start();
    const bundle = await published();
    const pool = mustSucceed(await world.admin.get(secretPath(world, 'pool')))['data'].pool as string;
    mustSucceed(await world.admin.remove(secretPath(world, 'pool')));
    await waitForBundle(world, (now) => goneSince(now) !== '');
    await waitFor('the time of the withdrawal to be said', async () => {
      const said = await waitForReason(world, 'TrustBundlePublished', 'Published');
      return /is withdrawn at/.test(said['message'] as string);
    });
    await applySecret(world, 'pool', { pool: Buffer.from(pool, 'base64') });
    const back = await waitForBundle(world, (now) => goneSince(now) === '');
    expect(back['spec']).toEqual(bundle['spec']);
  });

  test('belongs to one gateway: the second is told whose it is, and takes over when that one has gone', async () => {
    await world.start();
    const bundle = await published();
    await applySecret(world, 'other-pool', { pool: newPool() });
    await applyGateway(world, 'second', { caPool: { secretName: 'other-pool' }, trustBundle: { name: 'gw' } });
    const said = await waitForReason(world, 'TrustBundlePublished', 'Conflict', { name: 'second' });
    expect(said['message']).toContain(`${world.namespace}/gw`);
    expect(anchorsOf(await waitForBundle(world))).toBe(anchorsOf(bundle));
    mustSucceed(await world.admin.remove(`${gatewaysIn(world.namespace)}/gw`));
    await waitForReason(world, 'TrustBundlePublished', 'Published', { name: 'second' });
    expect(anchorsOf(await waitForBundle(world))).not.toBe(anchorsOf(bundle));
  });

  test('goes to one of two gateways that want it at the same moment, and stays there', async () => {
    await applySecret(world, 'pool', { pool: newPool() });
    await applySecret(world, 'other-pool', { pool: newPool() });
    await applyGateway(world, 'gw');
    await applyGateway(world, 'second', { caPool: { secretName: 'other-pool' }, trustBundle: { name: 'gw' } });
    await world.start();
    const names = ['gw', 'second'];
    const reasons = await waitFor('both to know', async () => {
      const seen = await Promise.all(names.map((name) => conditionOf(world, 'TrustBundlePublished', name)));
      return seen.every((one) => one !== undefined) ? seen.map((one) => one['reason'] as string) : undefined;
    });
    expect(reasons.toSorted()).toEqual(['Conflict', 'Published']);
    const owner = names[reasons.indexOf('Published')] ?? '';
    expect((await waitForBundle(world))['metadata'].annotations['leafgate.dev/gateway']).toBe(
      `${world.namespace}/${owner}`,
    );
  });

  test('takes the place of one that nobody answers for', async () => {
    const before = await applyOtherAnchors(world);
    await world.start();
    const bundle = await published();
    expect(anchorsOf(bundle)).not.toBe(before);
    expect(bundle['metadata'].annotations['leafgate.dev/gateway']).toBe(`${world.namespace}/gw`);
  });
});

function goneSince(bundle: ApiObject): string {
  return (bundle['metadata'].annotations?.['leafgate.dev/pool-gone-since'] ?? '') as string;
}

/** somebody writes a bundle by hand, of another CA; gives its anchors */
async function applyOtherAnchors(world: ControllerWorld): Promise<string> {
  const { CAs } = JSON.parse(Buffer.from(newPool()).toString()) as { CAs: { RootCertificateDER: string }[] };
  const base64 = CAs[0]?.RootCertificateDER ?? '';
  const trustBundle = `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;
  const metadata = { name: `${world.domain}:mitm:gw` };
  const spec = { signerName: world.signerName, trustBundle };
  const bundle = { apiVersion: 'certificates.k8s.io/v1', kind: 'ClusterTrustBundle', metadata, spec };
  mustSucceed(await world.admin.apply(bundlePath(world), bundle));
  return trustBundle;
}
