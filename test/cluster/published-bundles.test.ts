// Whatever a pool holds, what is published of it is taken by the API server, and a kubelet makes the same set of it. Both are
// asked of Kubernetes' own code.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { minutes } from '../../src/clock.ts';
import { bundleText } from '../../src/x509/bundle-text.ts';
import { judgePool, type PoolJudgement } from '../../src/controller/judge-pool.ts';
import { parseEgressGateway } from '../../src/settings/egress-gateway.ts';
import { encodeBlueprint, makeCa, makeKey, testNow, type TestKeyKind } from '../support/ca-workshop.ts';
import { startBundleOracle, type BundleOracle } from '../support/cluster/ctb-oracle.ts';
import { damageRoot } from '../support/damaged-roots.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { gatewayObject } from '../support/egress-gateway-object.ts';
import { oddRoots } from '../support/odd-roots.ts';
import { foundSecret, testNamespace } from '../support/observed-objects.ts';
import { base64, caFields, pkcs8, poolBytes, type PoolCaFields } from '../support/pool-workshop.ts';

const signerName = 'example.com/mitm';
const name = 'example.com:mitm:pool';
const terms = {
  secret: { namespace: testNamespace, name: 'pool' },
  ...{ now: testNow, allowEd25519: false, shortestLeafMs: minutes(2) },
};

function judged(cas: readonly PoolCaFields[]): PoolJudgement {
  return judgePool(foundSecret('pool', { pool: poolBytes(cas) }), terms);
}

const kinds: readonly TestKeyKind[] = ['P-256', 'P-384', 'P-521', 'secp256k1', 'RSA-2048', 'Ed25519', 'Ed448'];
const ofEachKind = kinds.map((kind) => caFields('?', makeCa({ key: makeKey(kind) })));
const key = makeKey();
const oddDers = Object.values(oddRoots).map((blueprint) => encodeBlueprint({ ...blueprint, key }));

function ofDer(der: Uint8Array): PoolCaFields {
  return { ID: '?', SigningKeyPKCS8: pkcs8(key), RootCertificateDER: base64(der) };
}

const damage = fc.record({ at: fc.nat(500), byte: fc.nat(255) });
const damaged = fc
  .tuple(fc.constantFrom(...oddDers), fc.array(damage, { minLength: 1, maxLength: 2 }))
  .map(([der, damages]) => ofDer(damageRoot(der, key, damages)));

describeWithTools('what is published', ['ctb-oracle'], () => {
  let oracle: BundleOracle;
  beforeAll(() => {
    oracle = startBundleOracle();
  });
  afterAll(() => oracle.close());

  const isTaken = async (trustBundle: string): Promise<boolean> =>
    (await oracle.validate({ name, signerName, trustBundle })).ok;

  test.each(Object.entries(oddRoots))('of a root with %s is taken, or nothing is', async (_, blueprint) => {
    const { anchors, isPublishable } = judged([ofDer(encodeBlueprint({ ...blueprint, key }))]);
    if (isPublishable) expect(await isTaken(bundleText(anchors.map(({ certificate }) => certificate)))).toBe(true);
  });

  test('is taken, and projected as the same set, whatever is in the pool', async () => {
    const ca = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...ofEachKind) },
      { weight: 2, arbitrary: fc.constantFrom(...oddDers).map(ofDer) },
      { weight: 1, arbitrary: damaged },
    );
    let published = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(ca, { minLength: 1, maxLength: 6 }), async (chosen) => {
        const { anchors, isPublishable } = judged(chosen.map((fields, index) => ({ ...fields, ID: `ca-${index}` })));
        if (!isPublishable) return;
        published += 1;
        const trustBundle = bundleText(anchors.map(({ certificate }) => certificate));
        expect(await oracle.validate({ name, signerName, trustBundle })).toEqual({ ok: true });
        const bundle = { metadata: { name }, spec: { signerName, trustBundle } };
        const projected = await oracle.project({ bundles: [bundle], signerName, labelSelector: {} });
        expect(projected.sha256).toEqual(anchors.map(({ certificate }) => certificate.sha256).sort());
      }),
      { numRuns: 1000 },
    );
    expect(published).toBeGreaterThan(50);
  });

  test('of one root is taken, whatever bytes it has', async () => {
    await fc.assert(
      fc.asyncProperty(damaged, async (fields) => {
        const { anchors, isPublishable } = judged([fields]);
        if (isPublishable) expect(await isTaken(bundleText(anchors.map(({ certificate }) => certificate)))).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  test('has a name that is taken, whenever a gateway may ask for it, and is refused when it may not', async () => {
    const trustBundle = bundleText([makeCa().certificate]);
    const part = fc.oneof(
      fc.constantFrom('a', 'mitm', 'a.b', 'a-b', '0', 'A', '-a', 'a-', 'a..b', '', 'a_b', 'a:b', 'ä', 'a'.repeat(63)),
      fc.constantFrom('a'.repeat(64), `${'a.'.repeat(126)}a`, `${'a.'.repeat(126)}ab`, ' a', 'a\n'),
    );
    const domain = fc.oneof(
      fc.constant('example.com'),
      part,
      fc.tuple(part, part).map((parts) => parts.join('.')),
    );
    const signer = fc.tuple(domain, part).map((parts) => parts.join('/'));
    await fc.assert(
      fc.asyncProperty(fc.oneof(signer, part), part, async (asked, wanted) => {
        const reading = parseEgressGateway(gatewayObject({ trustBundle: { signerName: asked, name: wanted } }));
        const objectName = `${asked.replaceAll('/', ':')}:${wanted}`;
        const verdict = await oracle.validate({ name: objectName, signerName: asked, trustBundle });
        expect({ asked, wanted, isRead: reading.kind === 'read' }).toEqual({ asked, wanted, isRead: verdict.ok });
        if (reading.kind === 'read') expect(reading.gateway.spec.trustBundle.objectName).toBe(objectName);
      }),
      { numRuns: 1000 },
    );
  });
});
