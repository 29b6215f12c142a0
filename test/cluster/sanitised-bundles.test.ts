// A kubelet makes the same set of a bundle as the sanitiser does, whatever the texts look like that it is taken from.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sanitiseBundle } from '../../src/projection/sanitise-bundle.ts';
import { makeCa, testNow } from '../support/ca-workshop.ts';
import { startBundleOracle, type BundleOracle } from '../support/cluster/ctb-oracle.ts';
import { decoratedBundles } from '../support/decorated-bundles.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';

const signerName = 'example.com/mitm';
const known = Array.from({ length: 6 }, () => makeCa().certificate);

function bundleObject(trustBundle: string, index: number): object {
  const apiVersion = 'certificates.k8s.io/v1';
  const metadata = { name: `example.com:mitm:bundle-${index}`, labels: { pool: 'a' } };
  return { apiVersion, kind: 'ClusterTrustBundle', metadata, spec: { signerName, trustBundle } };
}

describeWithTools('a sanitised bundle', ['ctb-oracle'], () => {
  let oracle: BundleOracle;
  beforeAll(() => {
    oracle = startBundleOracle();
  });
  afterAll(() => oracle.close());

  test('is the set that a kubelet projects', async () => {
    await fc.assert(
      fc.asyncProperty(decoratedBundles(known), async ({ texts }) => {
        const projected = await oracle.project({ bundles: texts.map(bundleObject), signerName, labelSelector: {} });
        const own = sanitiseBundle(
          texts.map((text, index) => ({ source: `${index}`, text })),
          testNow,
        );
        if (own.kind === 'refused') throw own.error;
        expect(own.certificates.map(({ sha256 }) => sha256)).toEqual(projected.sha256);
      }),
      { numRuns: 300 },
    );
  });

  test('is what a kubelet reads as the same set again', async () => {
    await fc.assert(
      fc.asyncProperty(decoratedBundles(known), async ({ certificates, texts }) => {
        const bundles = texts.map(bundleObject);
        const { pem } = await oracle.project({ bundles, signerName, labelSelector: { matchLabels: { pool: 'a' } } });
        const own = sanitiseBundle([{ source: 'the volume of a kubelet', text: pem }], testNow);
        if (own.kind === 'refused') throw own.error;
        expect(own.certificates.map(({ sha256 }) => sha256)).toEqual(
          certificates.map(({ sha256 }) => sha256).toSorted(),
        );
      }),
      { numRuns: 100 },
    );
  });
});
