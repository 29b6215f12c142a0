// What a client sees of an asked name, through a real Envoy: cold, warm, refused, and names of odd shapes.
import { expect, test } from 'vitest';
import { atOnce, median } from '../support/at-once.ts';
import { clientOf, describeOnEnvoys } from '../support/envoy-matrix.ts';
import { defaultName } from '../support/minimal-bootstrap.ts';

const handshakeFailure = 40;

describeOnEnvoys('answers', (setup) => {
  test('a cold name gets a leaf of its own, minted once, that its client verifies', async () => {
    const { startSds, startEnvoy, pool } = setup();
    const sds = await startSds();
    const envoy = await startEnvoy();
    const { leaf, subjectAltName, serialHex, protocol } = await clientOf(envoy, pool).visit('cold.test');
    expect(subjectAltName).toBe('DNS:cold.test');
    expect(leaf.verify(pool.active.anchor.native.publicKey)).toBe(true);
    expect(protocol).toBe('TLSv1.3');
    expect(sds.minted()).toBe(1);
    expect(sds.answers).toMatchObject([{ name: 'cold.test', outcome: 'minted', serialHex }]);
  });

  test('a warm name asks the server nothing, fifty times over', async () => {
    const { startSds, startEnvoy, pool } = setup();
    const sds = await startSds();
    const client = clientOf(await startEnvoy(), pool);
    const { serialHex } = await client.visit('warm.test');
    const again = await atOnce(50, 5, () => client.visit('warm.test'));
    expect(new Set(again.map((one) => one.serialHex))).toEqual(new Set([serialHex]));
    expect(sds.answers).toHaveLength(1);
  });

  test('a hundred clients that want one cold name at once share one mint', async () => {
    const { startSds, startEnvoy, pool } = setup();
    const sds = await startSds();
    const client = clientOf(await startEnvoy(), pool);
    const all = await atOnce(100, 100, () => client.visit('stampede.test'));
    expect(new Set(all.map(({ serialHex }) => serialHex)).size).toBe(1);
    expect(sds.minted()).toBe(1);
  });

  test('a refused name ends in a handshake_failure alert at once, on TLS 1.2 and 1.3, and costs no mint', async () => {
    const { startSds, startEnvoy, pool } = setup();
    const sds = await startSds();
    sds.allowOnly(() => ({ allowed: false, rule: 'nothing' }));
    const client = clientOf(await startEnvoy(), pool);
    const refusals = await atOnce(50, 1, (index) =>
      client.knock(`refused-${index}.test`, { maxVersion: index % 2 === 0 ? 'TLSv1.2' : 'TLSv1.3' }),
    );
    expect(new Set(refusals.map((one) => (one.kind === 'failed' ? one.alert : one.kind)))).toEqual(
      new Set([handshakeFailure]),
    );
    // 1.0 to 1.7 ms when measured alone; a name that is not answered hangs for 5,000
    expect(median(refusals.map(({ tookMs }) => tookMs))).toBeLessThan(500);
    expect(sds.minted()).toBe(0);
  });

  test('a refusal is not remembered: the same name gets its leaf as soon as it may be minted', async () => {
    const { startSds, startEnvoy, pool } = setup();
    const sds = await startSds();
    sds.allowOnly(() => ({ allowed: false, rule: 'not yet' }));
    const client = clientOf(await startEnvoy(), pool);
    expect(await client.knock('later.test')).toMatchObject({ kind: 'failed', alert: handshakeFailure });
    sds.allowOnly(() => ({ allowed: true, rule: 'now' }));
    expect(await client.visit('later.test')).toMatchObject({ subjectAltName: 'DNS:later.test' });
  });

  test('upper case is echoed to Envoy as it was asked, and the leaf has the canonical name', async () => {
    const { startSds, startEnvoy, pool } = setup();
    const sds = await startSds();
    const client = clientOf(await startEnvoy(), pool);
    const mixed = await client.knock('MiXed.Test');
    expect(mixed).toMatchObject({ kind: 'done', subjectAltName: 'DNS:mixed.test' });
    expect(sds.answers).toMatchObject([{ name: 'MiXed.Test', outcome: 'minted' }]);
  });

  test('a client without SNI gets the default name, minted like any other', async () => {
    const { startSds, startEnvoy, pool } = setup();
    await startSds();
    const client = clientOf(await startEnvoy(), pool);
    expect(await client.knock(undefined)).toMatchObject({ kind: 'done', subjectAltName: `DNS:${defaultName}` });
  });

  test.each(['bad..label.test', '*.wildcard.test', `${'x'.repeat(64)}.test`])(
    'the malformed name %s is refused, not left waiting',
    async (name) => {
      const { startSds, startEnvoy, pool } = setup();
      const sds = await startSds();
      const client = clientOf(await startEnvoy(), pool);
      const { tookMs, ...refusal } = await client.knock(name);
      expect(refusal).toMatchObject({ kind: 'failed', alert: handshakeFailure });
      expect(tookMs).toBeLessThan(2000);
      expect(sds.minted()).toBe(0);
    },
  );
});
