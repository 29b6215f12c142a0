// Bundles are resolved from a real API server, whatever it serves and lets us do, and from the volume that a kubelet writes.
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { KubeClient } from '../../src/kube/kube-types.ts';
import { createMetrics } from '../../src/observe/create-metrics.ts';
import { createBundleViews } from '../../src/projection/bundle-views.ts';
import {
  createBundleResolver,
  type BundleResolver,
  type ResolvedSource,
} from '../../src/projection/resolve-bundles.ts';
import type { BundleBackend } from '../../src/settings/bundle-allowlist.ts';
import { bundleText } from '../../src/x509/bundle-text.ts';
import type { Certificate } from '../../src/x509/certificate-types.ts';
import { startKubeletVolume } from '../support/cluster/ctb-oracle.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { kubeClientFor } from '../support/cluster/kube-client-for.ts';
import { apiAs, mustSucceed } from '../support/cluster/raw-api.ts';
import { allow } from '../support/cluster/service-account.ts';
import { makeCurrentCa } from '../support/credential-workshop.ts';
import { createListeningLog } from '../support/kube-world.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const signerName = 'example.com/resolved';
const [a, b] = [makeCurrentCa('a').certificate, makeCurrentCa('b').certificate];
const v1 = '/apis/certificates.k8s.io/v1/clustertrustbundles';

type Resolving = { readonly resolver: BundleResolver; readonly resolve: (name: string) => ResolvedSource };

function resolving(kube: KubeClient | undefined, backends: Readonly<Record<string, BundleBackend>>): Resolving {
  const parts = {
    ...{ clock: systemClock, log: createListeningLog(), metrics: createMetrics({ withProcessMetrics: false }) },
  };
  const resolver = createBundleResolver({
    ...{ ...parts, allowlist: new Map(Object.entries(backends)), kube, random: Math.random },
    views: createBundleViews(parts),
  });
  return { resolver, resolve: (name) => resolver.resolve([name]) };
}

function codeOf(resolved: ResolvedSource): string {
  return resolved.kind === 'refused' ? resolved.problem.error.code : resolved.kind;
}

function isText(resolved: ResolvedSource, ...anchors: readonly Certificate[]): boolean {
  return resolved.kind === 'ready' && resolved.pemBundle === bundleText(anchors);
}

function bundleOf(name: string, anchors: readonly Certificate[], labels: object = {}): object {
  const metadata = { name: `example.com:resolved:${name}`, labels };
  const spec = { signerName, trustBundle: `# ${name}\n${bundleText(anchors)}` };
  return { apiVersion: 'certificates.k8s.io/v1', kind: 'ClusterTrustBundle', metadata, spec };
}

describeWithControlPlane('bundles of an API server', { users: ['reader'], tools: ['ctb-oracle'] }, (plane) => {
  test('are the union of what a signer and labels choose, or one by its name, and follow each change', async () => {
    const admin = apiAs(plane(), plane().user('admin'));
    const client = await kubeClientFor(plane().user('admin'));
    const { resolver, resolve } = resolving(client, {
      live: { kind: 'cluster-trust-bundles', signerName, matchLabels: { stage: 'live' } },
      all: { kind: 'cluster-trust-bundles', signerName, matchLabels: {} },
      one: { kind: 'cluster-trust-bundle', name: 'example.com:resolved:one' },
    });
    const at = (name: string): string => `${v1}/example.com:resolved:${name}`;
    resolve('live');
    await waitFor('the refusal of nothing', () => codeOf(resolve('live')) === 'bundle-object-missing');
    mustSucceed(await admin.apply(at('one'), bundleOf('one', [a], { stage: 'live' })));
    mustSucceed(await admin.apply(at('two'), bundleOf('two', [b, a], { stage: 'canary' })));
    await waitFor('the live one', () => isText(resolve('live'), a));
    await waitFor('both', () => isText(resolve('all'), a, b));
    await waitFor('the one by its name', () => isText(resolve('one'), a));
    mustSucceed(await admin.apply(at('two'), bundleOf('two', [b], { stage: 'live' })));
    await waitFor('the second, live now', () => isText(resolve('live'), a, b));
    mustSucceed(await admin.remove(at('one')));
    await waitFor('what is left', () => isText(resolve('live'), b) && isText(resolve('all'), b));
    await waitFor('the missing one', () => codeOf(resolve('one')) === 'bundle-object-missing');
    mustSucceed(await admin.remove(at('two')));
    await resolver.close();
    await client.close();
    admin.close();
  });

  test('are unavailable without the right to follow them, which the message names, until it is given', async () => {
    const admin = apiAs(plane(), plane().user('admin'));
    const client = await kubeClientFor(plane().user('reader'));
    mustSucceed(await admin.apply(`${v1}/example.com:resolved:named`, bundleOf('named', [a])));
    const { resolver, resolve } = resolving(client, {
      named: { kind: 'cluster-trust-bundle', name: 'example.com:resolved:named' },
      all: { kind: 'cluster-trust-bundles', signerName, matchLabels: {} },
    });
    resolve('all');
    await waitFor('both refusals', () => [resolve('named'), resolve('all')].every(({ kind }) => kind === 'refused'));
    expect(resolve('named')).toMatchObject({
      problem: { cause: 'unavailable', error: { code: 'bundle-access-missing' } },
    });
    const named = resolve('named');
    const message = named.kind === 'refused' ? named.problem.error.message : '';
    expect(message).toContain('list, watch on clustertrustbundles.certificates.k8s.io "example.com:resolved:named"');
    const rule = { apiGroups: ['certificates.k8s.io'], resources: ['clustertrustbundles'], verbs: ['list', 'watch'] };
    const cluster = [{ ...rule, resourceNames: ['example.com:resolved:named'] }];
    await allow(plane(), { kind: 'User', name: 'reader' }, { cluster });
    await waitFor('the one that it may follow', () => isText(resolve('named'), a), 40_000);
    expect(codeOf(resolve('all'))).toBe('bundle-access-missing');
    mustSucceed(await admin.remove(`${v1}/example.com:resolved:named`));
    await resolver.close();
    await client.close();
    admin.close();
  }, 60_000);

  test('reach an actor without a token by the volume of a kubelet, whose shuffling changes nothing', async () => {
    const admin = apiAs(plane(), plane().user('admin'));
    const folder = createTempFolder();
    const select = { signerName, labelSelector: { matchLabels: { stage: 'live' } } };
    const volume = startKubeletVolume(plane(), { folder: folder.file('volume'), file: 'ca.pem', select });
    const { resolver, resolve } = resolving(undefined, { file: { kind: 'file', path: folder.file('volume/ca.pem') } });
    resolve('file');
    await waitFor('the refusal of nothing', () => codeOf(resolve('file')) === 'bundle-file-missing');
    mustSucceed(await admin.apply(`${v1}/example.com:resolved:one`, bundleOf('one', [a], { stage: 'live' })));
    await waitFor('the first', () => isText(resolve('file'), a));
    mustSucceed(await admin.apply(`${v1}/example.com:resolved:two`, bundleOf('two', [b, a], { stage: 'live' })));
    await waitFor('both', () => isText(resolve('file'), a, b));
    await resolver.close();
    await volume.stop();
    mustSucceed(await admin.remove(`${v1}/example.com:resolved:one`));
    mustSucceed(await admin.remove(`${v1}/example.com:resolved:two`));
    admin.close();
    folder.remove();
  });
});

describeWithControlPlane('bundles of an API server that serves none', { serving: 'none' }, (plane) => {
  test('are found when it begins to, in whichever version', async () => {
    const client = await kubeClientFor(plane().user('admin'));
    const { resolver, resolve } = resolving(client, {
      all: { kind: 'cluster-trust-bundles', signerName, matchLabels: {} },
    });
    resolve('all');
    await waitFor('the refusal', () => codeOf(resolve('all')) === 'bundle-api-not-served');
    await plane().restartApiServer('kill', { serving: 'v1beta1' });
    const admin = apiAs(plane(), plane().user('admin'));
    const at = `${v1.replace('v1', 'v1beta1')}/example.com:resolved:one`;
    const bundle = { ...bundleOf('one', [a]), apiVersion: 'certificates.k8s.io/v1beta1' };
    mustSucceed(await admin.apply(at, bundle));
    await waitFor('the bundle', () => isText(resolve('all'), a), 60_000);
    await resolver.close();
    await client.close();
    admin.close();
  }, 120_000);
});
