// The oracles that others are judged by: they say yes to what is right and no to what is wrong.
import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { caPem, makeCurrentCa } from '../support/credential-workshop.ts';
import { startBundleOracle, startKubeletVolume, type BundleOracle } from '../support/cluster/ctb-oracle.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { apiAs, mustSucceed } from '../support/cluster/raw-api.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const signerName = 'example.com/mitm';
const name = 'example.com:mitm:pool';

function anchor(): { readonly pem: string; readonly sha256: string } {
  const ca = makeCurrentCa('oracle');
  return { pem: caPem(ca), sha256: createHash('sha256').update(ca.certificate.der).digest('hex') };
}

function bundleOf(trustBundle: string): object {
  const apiVersion = 'certificates.k8s.io/v1';
  const metadata = { name, labels: { pool: 'a' } };
  return { apiVersion, kind: 'ClusterTrustBundle', metadata, spec: { signerName, trustBundle } };
}

describeWithTools("the oracle of the API server's validation", ['ctb-oracle'], () => {
  let oracle: BundleOracle;
  beforeAll(() => {
    oracle = startBundleOracle();
  });
  afterAll(() => oracle.close());

  test('accepts a good bundle, and each question gets its own answer', async () => {
    const [one, two] = [anchor().pem, anchor().pem];
    const verdicts = await Promise.all([
      oracle.validate({ name, signerName, trustBundle: one + two }),
      oracle.validate({ name, signerName, trustBundle: '' }),
      oracle.validate({ name, signerName, trustBundle: one }),
    ]);
    expect(verdicts.map(({ ok }) => ok)).toEqual([true, false, true]);
  });

  test.each([
    ['a name without its signer', { name: 'pool' }, 'metadata.name'],
    ['a signer without a domain', { signerName: 'mitm' }, 'spec.signerName'],
    [
      'a private key',
      { trustBundle: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n' },
      'spec.trustBundle',
    ],
    ['the same anchor twice', { trustBundle: ((pem) => pem + pem)(anchor().pem) }, 'spec.trustBundle'],
  ])('refuses %s, and names the field', async (_, wrong, field) => {
    const verdict = await oracle.validate({ name, signerName, trustBundle: anchor().pem, ...wrong });
    expect(verdict.errors?.map((error) => error.field)).toContain(field);
  });

  test('refuses another signer in an update', async () => {
    const old = { name, signerName, trustBundle: anchor().pem };
    const verdict = await oracle.validate({ ...old, signerName: 'example.com/other', old });
    expect(verdict.ok).toBe(false);
  });

  test('projects the same set of anchors, whatever stands around them', async () => {
    const [one, two] = [anchor(), anchor()];
    const bundles = [bundleOf(`# first\n${one.pem}# second\n${two.pem}`)];
    const projected = await oracle.project({ bundles, signerName, labelSelector: {} });
    expect(projected.sha256).toEqual([one.sha256, two.sha256].sort());
    expect(projected.pem).not.toContain('#');
    expect((await oracle.project({ bundles, name: 'example.com:mitm:other' })).ok).toBe(false);
    expect(await oracle.project({ bundles, name: 'example.com:mitm:other', optional: true })).toMatchObject({
      pem: '',
    });
  });

  test('says that it ended to whoever still waits', async () => {
    const other = startBundleOracle();
    await other.close();
    await expect(other.validate({ name, signerName, trustBundle: '' })).rejects.toThrow(/ended/);
  });
});

describeWithControlPlane("a kubelet's volume", { tools: ['ctb-oracle'] }, (plane) => {
  test('follows the bundles that it selects, and keeps what it has when they are gone', async () => {
    const admin = apiAs(plane(), plane().user('admin'));
    const folder = createTempFolder();
    const volume = startKubeletVolume(plane(), {
      ...{ folder: folder.file('volume'), file: 'ca.pem' },
      select: { signerName, labelSelector: { matchLabels: { pool: 'a' } } },
    });
    const [one, two] = [anchor(), anchor()];
    const at = `/apis/certificates.k8s.io/v1/clustertrustbundles/${name}`;
    const isWritten = (...digests: readonly string[]) =>
      volume.seen().at(-1)?.sha256.join() === [...digests].sort().join();
    await waitFor('the refusal of nothing', () => volume.seen().at(-1)?.ok === false);
    mustSucceed(await admin.apply(at, bundleOf(one.pem)));
    await waitFor('the first anchor', () => isWritten(one.sha256));
    mustSucceed(await admin.apply(at, bundleOf(one.pem + two.pem)));
    await waitFor('both anchors', () => isWritten(one.sha256, two.sha256));
    const content = readFileSync(folder.file('volume/ca.pem'), 'utf8');
    expect(content.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    mustSucceed(await admin.remove(at));
    await waitFor('the refusal again', () => volume.seen().at(-1)?.ok === false);
    expect(readFileSync(folder.file('volume/ca.pem'), 'utf8')).toBe(content);
    await volume.stop();
    admin.close();
    folder.remove();
  });
});
