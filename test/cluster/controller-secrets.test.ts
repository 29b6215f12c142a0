// Secrets of a gateway that are replaced by others of the same name, and pools as large as they may be, on a real API server.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeBigRoot } from '../support/big-root.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import {
  applyGateway,
  applySecret,
  changePool,
  createControllerWorld,
  newPool,
  secretPath,
  waitForBundle,
  waitForReason,
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { gatewaysIn } from '../support/cluster/install-egress-gateways.ts';
import { mustSucceed, type ApiObject } from '../support/cluster/raw-api.ts';
import { issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { caFields, poolBytes, type PoolCaFields } from '../support/pool-workshop.ts';
import { waitFor } from '../support/wait-for.ts';

const tls = 'kubernetes.io/tls';
const anchorsOf = (bundle: ApiObject): string => bundle['spec'].trustBundle as string;
const countOf = (bundle: ApiObject): number => anchorsOf(bundle).split('BEGIN CERTIFICATE').length - 1;

describeWithControlPlane('a gateway', {}, (plane) => {
  let world: ControllerWorld;
  beforeAll(async () => {
    world = await createControllerWorld(plane());
    await world.start();
  });
  afterAll(() => world.close());

  const replaceSecret = async (...[, name, data, type]: Parameters<typeof applySecret>): Promise<ApiObject> => {
    mustSucceed(await world.admin.remove(secretPath(world, name)));
    return applySecret(world, name, data, type);
  };
  const anchorsInStatus = async (): Promise<number> => {
    const { status } = mustSucceed(await world.admin.get(`${gatewaysIn(world.namespace)}/gw`));
    return (status.bundle.anchors as readonly ApiObject[]).length;
  };

  test('takes up a serving Secret that is made anew in the right type, and says when it is of another again', async () => {
    const short = `second.${world.namespace}.svc`;
    const names = [short, `${short}.cluster.local`];
    const { certificatePem, keyPem } = issueCredential(makeCurrentCa('serving'), { dnsNames: names });
    const data = { 'tls.crt': certificatePem, 'tls.key': keyPem };
    await applySecret(world, 'pool', { pool: newPool() });
    await applySecret(world, 'serving', data, 'Opaque');
    await applyGateway(world, 'second', { servingTLS: { secretName: 'serving' } });
    const said = await waitForReason(world, 'ServingTLSSecretReady', 'TLSSecretMalformed', { name: 'second' });
    expect(said['message']).toContain('has the type Opaque, where kubernetes.io/tls is expected');
    // the type of a Secret never changes: another Secret has to take its place
    expect((await world.admin.patch(secretPath(world, 'serving'), { type: tls })).status).toBe(422);
    await replaceSecret(world, 'serving', data, tls);
    await waitForReason(world, 'ServingTLSSecretReady', 'TLSSecretReady', { name: 'second' });
    await replaceSecret(world, 'serving', data, 'Opaque');
    await waitForReason(world, 'ServingTLSSecretReady', 'TLSSecretMalformed', { name: 'second' });
  });

  describe('that publishes a pool', () => {
    let before: ApiObject;
    beforeEach(async () => {
      await applyGateway(world);
      before = await changePool(world);
      await waitForReason(world, 'CAPoolReady', 'Ready');
    });

    test('follows another Secret of that name as it does the first, and forgets that there was none', async () => {
      const first = mustSucceed(await world.admin.get(secretPath(world, 'pool')));
      const second = await replaceSecret(world, 'pool', { pool: newPool() });
      expect(second['metadata'].uid).not.toBe(first['metadata'].uid);
      const followed = await waitForBundle(world, (now) => anchorsOf(now) !== anchorsOf(before));
      await replaceSecret(world, 'pool', { pool: newPool() });
      const last = await waitForBundle(world, (now) => anchorsOf(now) !== anchorsOf(followed));
      expect(countOf(last)).toBe(1);
      expect(last['metadata'].uid).toBe(before['metadata'].uid);
      await waitForBundle(world, (now) => now['metadata'].annotations['leafgate.dev/pool-gone-since'] === '');
      await waitForReason(world, 'CAPoolReady', 'Ready');
    });

    test('publishes thirty-two CAs that take nearly all that a Secret and a bundle may hold', async () => {
      await applySecret(world, 'pool', { pool: poolBytes(bigCas(32, 32_000)) });
      const bundle = await waitForBundle(world, (now) => countOf(now) === 32);
      expect(anchorsOf(bundle).length).toBeGreaterThan(1_000_000);
      await waitFor('all of them in the status', async () => (await anchorsInStatus()) === 32);
      await waitForReason(world, 'CAPoolReady', 'Ready');
      await waitForReason(world, 'TrustBundlePublished', 'Published');
    });

    test.each([
      ['thirty-three CAs', () => bigCas(33, 1000), /has 33 CAs, more than 32/],
      ['anchors that are more than a bundle may hold', () => bigCas(32, 32_300), /a bundle has at most 1048576/],
    ] as const)('keeps the last good bundle when the pool has %s, and says so', async (_, cas, says) => {
      await applySecret(world, 'pool', { pool: poolBytes(cas()) });
      const said = await waitForReason(world, 'CAPoolReady', 'Malformed');
      expect(said['message']).toMatch(says);
      expect(anchorsOf(await waitForBundle(world))).toBe(anchorsOf(before));
    });

    test('is told by the API server of a pool that no Secret can hold, before the controller sees it', async () => {
      const { metadata } = mustSucceed(await world.admin.get(secretPath(world, 'pool')));
      const data = { pool: Buffer.alloc(1024 * 1024 + 1, ' ').toString('base64') };
      expect((await world.admin.patch(secretPath(world, 'pool'), { data })).status).toBe(422);
      expect(mustSucceed(await world.admin.get(secretPath(world, 'pool')))['metadata']).toEqual(metadata);
    });
  });
});

function bigCas(count: number, base64Chars: number): readonly PoolCaFields[] {
  return Array.from({ length: count }, (_, index) =>
    caFields(`ca-${index}`, makeBigRoot(`root ${index}`, base64Chars)),
  );
}
