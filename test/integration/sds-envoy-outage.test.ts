// What holds when either side goes away: outages, restarts of the SDS server and of Envoy, two thousand live names.
import { expect, test } from 'vitest';
import { atOnce } from '../support/at-once.ts';
import { clientOf, describeOnEnvoys } from '../support/envoy-matrix.ts';
import { waitFor } from '../support/wait-for.ts';

describeOnEnvoys('outages', (setup) => {
  test('without the server warm names are served, cold ones end after 5 s, and all is well 2 s after its return', async () => {
    const { startSds, startEnvoy, pool } = setup();
    const sds = await startSds();
    const client = clientOf(await startEnvoy(), pool);
    const { serialHex } = await client.visit('warm.test');
    await sds.stop();
    const cold = client.knock('cold.test');
    const warm = await atOnce(20, 4, () => client.visit('warm.test'));
    expect(new Set(warm.map((one) => one.serialHex))).toEqual(new Set([serialHex]));
    const ended = await cold;
    expect(ended).toMatchObject({ kind: 'failed', alert: undefined });
    expect(ended.tookMs).toBeGreaterThan(4500);
    await startSds();
    const returned = performance.now();
    await waitFor(
      'the name that was asked in the outage',
      async () => (await client.knock('cold.test')).kind === 'done',
    );
    await client.visit('brand-new.test');
    expect(performance.now() - returned).toBeLessThan(4000);
  });

  test('a restarted server mints nothing anew for the names that Envoy holds', async () => {
    const { startSds, startEnvoy, pool } = setup();
    const before = await startSds();
    const envoy = await startEnvoy();
    const client = clientOf(envoy, pool);
    const names = Array.from({ length: 50 }, (_, index) => `held-${index}.test`);
    const serials = (await atOnce(50, 5, (index) => client.visit(names[index]))).map(({ serialHex }) => serialHex);
    await before.stop();
    const after = await startSds();
    await waitFor('Envoy to declare what it holds', () => after.server.status().liveNames === names.length);
    expect((await atOnce(50, 5, (index) => client.visit(names[index]))).map((one) => one.serialHex)).toEqual(serials);
    expect(after.minted()).toBe(0);
    expect(await envoy.liveNames()).toBe(50);
  });

  test('a held leaf of a CA that left the pool while the server was down is replaced when it returns', async () => {
    const { startSds, startEnvoy, pool } = setup();
    const before = await startSds();
    const envoy = await startEnvoy();
    const first = await clientOf(envoy, pool).visit('retired.test');
    await before.stop();
    const { pool: nextPool } = setup();
    const after = await startSds({ pool: nextPool });
    const nextClient = clientOf(envoy, nextPool);
    const second = await waitFor('a leaf of the new CA', async () => {
      const seen = await nextClient.knock('retired.test');
      return seen.kind === 'done' && seen.authorized && seen;
    });
    expect(second.serialHex).not.toBe(first.serialHex);
    expect(after.minted()).toBe(1);
  });

  test('a restarted Envoy gets the leaves of before from the cache', async () => {
    const { startSds, startEnvoy, pool } = setup();
    const sds = await startSds();
    const first = await startEnvoy();
    const { serialHex } = await clientOf(first, pool).visit('again.test');
    await first.kill();
    const second = await startEnvoy();
    expect(await clientOf(second, pool).visit('again.test')).toMatchObject({ serialHex });
    expect(sds.minted()).toBe(1);
  });

  test('two thousand names are served, held, and declared again after a restart without one new mint', async () => {
    const { startSds, startEnvoy, pool } = setup();
    const before = await startSds();
    const envoy = await startEnvoy();
    const client = clientOf(envoy, pool);
    const count = 2000;
    await atOnce(count, 20, (index) => client.visit(`many-${index}.test`));
    expect(before.minted()).toBe(count);
    expect(await envoy.liveNames()).toBe(count);
    expect(before.server.status().liveNames).toBe(count);
    await before.stop();
    const after = await startSds();
    await waitFor('all names to be declared', () => after.server.status().liveNames === count, 30_000);
    await atOnce(100, 10, (index) => client.visit(`many-${index * 20}.test`));
    expect(after.minted()).toBe(0);
  }, 120_000);
});
