// What becomes of a name that Envoy holds when its leaf runs out, when pool or policy change, and when Envoy rejects what
// it was sent.
import { expect, test } from 'vitest';
import { seconds } from '../../src/clock.ts';
import { withForeignKey } from '../support/broken-minter.ts';
import { clientOf, describeOnEnvoys } from '../support/envoy-matrix.ts';
import { createTestPool } from '../support/sds-under-test.ts';
import { waitFor } from '../support/wait-for.ts';

/** with the margin of 60 s and a jitter of a tenth, TTLs of 1 to 6 s */
const shortLifeMs = seconds(66);

describeOnEnvoys('changes', (setup) => {
  test('a name leaves Envoy when its TTL ends, before the leaf expires, and the next client gets a new leaf', async () => {
    const { startSds, startEnvoy, pool } = setup();
    await startSds({ leafLifetimeMs: shortLifeMs });
    const envoy = await startEnvoy();
    const client = clientOf(envoy, pool);
    const first = await client.visit('short.test');
    await waitFor('Envoy to drop the name', async () => (await envoy.liveNames()) === 0, 20_000);
    expect(Date.now()).toBeLessThan(Date.parse(first.leaf.validTo));
    const second = await client.visit('short.test');
    expect(second.serialHex).not.toBe(first.serialHex);
  });

  test('a new pool replaces held leaves: the next handshake has the new CA, an open connection goes on', async () => {
    const { startSds, startEnvoy, pool } = setup();
    const sds = await startSds();
    const envoy = await startEnvoy();
    const client = clientOf(envoy, pool);
    const { handshake, socket } = await client.open('rotated.test');
    expect(handshake).toMatchObject({ kind: 'done', authorized: true });
    const next = createTestPool();
    sds.usePool(next);
    const nextClient = clientOf(envoy, next);
    const renewed = await waitFor('a leaf of the new CA', async () => {
      const seen = await nextClient.knock('rotated.test');
      return seen.kind === 'done' && seen.authorized && seen;
    });
    expect(renewed.issuer).toBe(next.active.anchor.native.subject);
    const answer = new Promise<string>((resolve, reject) => {
      socket.once('data', (chunk: Buffer) => resolve(chunk.toString('utf8')));
      socket.once('close', () => reject(new Error('the open connection was closed')));
    });
    socket.write('GET / HTTP/1.1\r\nhost: rotated.test\r\n\r\n');
    expect(await answer).toContain('200 OK');
    socket.destroy();
  });

  test('a name that policy no longer allows is taken back from Envoy', async () => {
    const { startSds, startEnvoy, pool } = setup();
    const sds = await startSds();
    const envoy = await startEnvoy();
    const client = clientOf(envoy, pool);
    await client.visit('allowed.test');
    await client.visit('stays.test');
    sds.allowOnly((name) => ({ allowed: name.kind === 'dns' && name.host === 'stays.test', rule: 'changed' }));
    await waitFor('Envoy to hold one name', async () => (await envoy.liveNames()) === 1);
    expect(await client.knock('allowed.test')).toMatchObject({ kind: 'failed', alert: 40 });
    expect(await client.visit('stays.test')).toMatchObject({ kind: 'done' });
  });

  test('a rejected first delivery is taken back, so that its client fails at once and the next one is served', async () => {
    const { startSds, startEnvoy, pool } = setup();
    let isBroken = true;
    const sds = await startSds({ wrapMinter: (minter) => withForeignKey(minter, () => isBroken) });
    const client = clientOf(await startEnvoy(), pool);
    const refused = await client.knock('rejected.test');
    expect(refused).toMatchObject({ kind: 'failed', alert: 40 });
    // silence would have lasted for Envoy's connect timeout of 5 s
    expect(refused.tookMs).toBeLessThan(2500);
    expect(sds.rejections).toMatchObject([{ name: 'rejected.test', wasFirst: true }]);
    expect(sds.rejections[0]?.detail).not.toContain('BEGIN');
    isBroken = false;
    expect(await client.visit('rejected.test')).toMatchObject({ kind: 'done' });
  });

  test('a rejected update leaves the name served with the leaf that Envoy holds', async () => {
    const { startSds, startEnvoy, pool } = setup();
    let isBroken = false;
    const sds = await startSds({ wrapMinter: (minter) => withForeignKey(minter, () => isBroken) });
    const client = clientOf(await startEnvoy(), pool);
    const { serialHex } = await client.visit('kept.test');
    isBroken = true;
    sds.usePool(createTestPool());
    await waitFor('the rejection of the update', () => sds.rejections.length > 0);
    expect(sds.rejections[0]).toMatchObject({ name: 'kept.test', wasFirst: false });
    expect(await client.visit('kept.test')).toMatchObject({ serialHex });
  });
});
