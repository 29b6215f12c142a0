// What an actor asks for by name is resolved from the backend that the deployment says, at the start and while it changes,
// and each way in which that can fail has a cause of its own.
import { describe, expect, it, test } from 'vitest';
import { writeFileSync } from 'node:fs';
import { minutes } from '../../../src/clock.ts';
import { kubeError, ownFailure, type KubeFailureKind } from '../../../src/kube/kube-failure.ts';
import type { BundleBackend } from '../../../src/settings/bundle-allowlist.ts';
import { bundleText } from '../../../src/x509/bundle-text.ts';
import { encodeCertificatesPem } from '../../../src/x509/pem.ts';
import { makeCa, makeKey, testNow } from '../../support/ca-workshop.ts';
import { bundleObject, createBundleWorlds } from '../../support/bundle-world.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { listOf } from '../../support/scripted-kube-client.ts';
import { waitFor } from '../../support/wait-for.ts';

const [a, b, c] = [makeCa().certificate, makeCa().certificate, makeCa().certificate];
const pem = encodeCertificatesPem;
const world = createBundleWorlds();

const signerName = 'example.com/egress';
const bySigner: BundleBackend = { kind: 'cluster-trust-bundles', signerName, matchLabels: { gateway: 'x' } };
const ofSigner: BundleBackend = { kind: 'cluster-trust-bundles', signerName, matchLabels: {} };
const byName: BundleBackend = { kind: 'cluster-trust-bundle', name: 'example.com:egress:main' };

const main = bundleObject({
  ...{ name: 'example.com:egress:main', signerName, labels: { gateway: 'x' }, trustBundle: pem([a]) },
});
const canary = bundleObject({
  ...{ name: 'example.com:egress:canary', signerName, labels: { gateway: 'x', stage: 'canary' } },
  trustBundle: `# canary\n${pem([b, a])}`,
});
const others = [
  bundleObject({ name: 'example.com:egress:other', signerName, labels: { gateway: 'y' }, trustBundle: pem([c]) }),
  bundleObject({ name: 'foreign', labels: { gateway: 'x' }, trustBundle: pem([c]) }),
];

function failure(kind: KubeFailureKind): Error {
  return kubeError('list clustertrustbundles', ownFailure(kind, `it is ${kind}`));
}

describe('bundles of the cluster', () => {
  test.each<[string, BundleBackend, string]>([
    ['a signer and labels: every one that has both', bySigner, bundleText([a, b])],
    ['a signer and no labels: all of the signer', ofSigner, bundleText([a, b, c])],
    ['a name: that one', byName, bundleText([a])],
  ])('are chosen by %s', async (_, backend, text) => {
    const { api, serve, whenItIs, resolve } = world({ backends: () => ({ x: backend }) });
    serve('certificates.k8s.io/v1');
    api.nextList(listOf('1', ...others, canary, main));
    expect(resolve('x').kind).toBe('pending');
    expect(await whenItIs('ready', 'x')).toEqual({ kind: 'ready', pemBundle: text });
  });

  it('are read in the newest version that is served', async () => {
    const { serve, api, whenItIs } = world({ backends: () => ({ x: byName }) });
    serve('certificates.k8s.io/v1beta1', 'certificates.k8s.io/v1alpha1');
    api.nextList(listOf('1', main));
    await whenItIs('ready', 'x');
    expect(api.asked()).toMatchObject({ resource: { version: 'v1beta1' }, name: 'example.com:egress:main' });
  });

  it('follow each change, and tell it once', async () => {
    const { serve, api, whenItIs, resolve, changes } = world({ backends: () => ({ x: bySigner }) });
    serve('certificates.k8s.io/v1');
    api.nextList(listOf('1', main));
    await whenItIs('ready', 'x');
    const before = changes();
    const change = (trustBundle: string, resourceVersion: string): void => {
      const object = { ...main, metadata: { ...main.metadata, resourceVersion }, spec: { signerName, trustBundle } };
      api.open().terms.onEvent({ kind: 'put', object });
    };
    change(pem([a, b]), '2');
    expect(resolve('x')).toMatchObject({ pemBundle: bundleText([a, b]) });
    expect(changes()).toBe(before + 1);
    // the same set in another order is no change
    change(`${pem([b])}# text\n${pem([a, b])}`, '3');
    expect(changes()).toBe(before + 1);
    change(pem([a, c]), '4');
    expect(resolve('x')).toMatchObject({ pemBundle: bundleText([a, c]) });
    expect(changes()).toBe(before + 2);
    api.open().terms.onEvent({ kind: 'gone', object: main });
    expect(resolve('x')).toMatchObject({ kind: 'refused', problem: { cause: 'missing-object' } });
    expect(changes()).toBe(before + 3);
  });

  it('ask the API server once for what several of them need', async () => {
    const { serve, api, whenItIs } = world({
      backends: () => ({
        x: { ...bySigner, matchLabels: { gateway: 'x', stage: 'canary' } },
        y: { ...bySigner, matchLabels: { stage: 'canary', gateway: 'x' }, signerName: 'example.com/y' },
      }),
    });
    serve('certificates.k8s.io/v1');
    api.nextList(listOf('1', main, canary));
    await whenItIs('ready', 'x');
    const { problem } = await whenItIs('refused', 'y');
    expect(problem.error.message).toBe(
      'there is no ClusterTrustBundle of the signer example.com/y with the labels gateway=x,stage=canary',
    );
    expect(api.asked()).toMatchObject({ labelSelector: 'gateway=x,stage=canary' });
    expect(api.listed()).toBe(1);
  });

  it('are not asked for before somebody wants one', async () => {
    const { serve, api, whenItIs, folder } = world({
      backends: (at) => ({ x: bySigner, y: { kind: 'file', path: at.file('y.pem') } }),
    });
    serve('certificates.k8s.io/v1');
    writeFileSync(folder.file('y.pem'), pem([a]));
    await whenItIs('ready', 'y');
    expect(api.listed()).toBe(0);
  });

  it('are unavailable where the API server serves none, until it does', async () => {
    const { serve, api, whenItIs, log } = world({ backends: () => ({ x: byName }) });
    api.nextList(listOf('1', main));
    expect(await whenItIs('refused', 'x')).toMatchObject({
      problem: { cause: 'unavailable', bundle: 'x', error: { code: 'bundle-api-not-served' } },
    });
    serve('certificates.k8s.io/v1');
    await whenItIs('ready', 'x');
    expect(log.lines.filter(({ sentence }) => sentence === 'a bundle cannot be used')).toHaveLength(1);
    expect(log.lines.filter(({ sentence }) => sentence === 'a bundle can be used again')).toHaveLength(1);
  });

  test.each<[KubeFailureKind, string, string]>([
    ['forbidden', 'bundle-access-missing', 'list, watch on clustertrustbundles.certificates.k8s.io'],
    ['unavailable', 'bundle-api-unreachable', 'it is unavailable'],
    ['not-found', 'bundle-api-not-served', 'serves no ClusterTrustBundles'],
    ['unauthorized', 'bundle-api-unreachable', 'it is unauthorized'],
  ])('are unavailable while listing them is %s: %s', async (kind, code, message) => {
    const { serve, api, whenItIs } = world({ backends: () => ({ x: bySigner }) });
    serve('certificates.k8s.io/v1');
    api.nextList(failure(kind));
    const { problem } = await whenItIs('refused', 'x');
    expect(problem).toMatchObject({ cause: 'unavailable', bundle: 'x', error: { code } });
    expect(problem.error.message).toContain(message);
    api.nextList(listOf('1', main));
    await whenItIs('ready', 'x');
  });

  it('stay as they were last seen while the API server is away, or serves them no more', async () => {
    const { serve, api, whenItIs, resolve, log } = world({ backends: () => ({ x: bySigner }) });
    serve('certificates.k8s.io/v1');
    api.nextList(listOf('1', main));
    await whenItIs('ready', 'x');
    serve();
    api.open().fail(failure('not-found'));
    await waitFor('another watch', () => api.watches.length === 2);
    api.open().fail(failure('not-found'));
    await waitFor('the trouble', () => log.lines.some(({ sentence }) => sentence.includes('cannot be followed')));
    expect(resolve('x').kind).toBe('ready');
    serve('certificates.k8s.io/v1beta1');
    api.nextList(listOf('5', main, canary));
    await waitFor('the new view', () => {
      const resolved = resolve('x');
      return resolved.kind === 'ready' && resolved.pemBundle === bundleText([a, b]);
    });
    expect(api.asked()).toMatchObject({ resource: { version: 'v1beta1' } });
  });

  it('have an age that lists, changes and bookmarks end, and that grows while the API server is away', async () => {
    const clock = createFakeClock(testNow);
    const { serve, api, whenItIs, resolve, views } = world({ backends: () => ({ x: bySigner }), clock });
    serve('certificates.k8s.io/v1');
    api.nextList(listOf('1', main));
    resolve('x');
    expect(views.age()).toBeUndefined();
    await whenItIs('ready', 'x');
    for (const confirm of [
      () => api.open().terms.onEvent({ kind: 'bookmark', resourceVersion: '2' }),
      () => api.open().terms.onEvent({ kind: 'put', object: main }),
    ]) {
      clock.advance(minutes(3));
      expect(views.age()).toBe(minutes(3));
      confirm();
      expect(views.age()).toBe(0);
    }
    api.open().fail(failure('unavailable'));
    clock.advance(minutes(5));
    expect(views.troubles()).toHaveLength(1);
    // the last good ones stay
    expect(resolve('x').kind).toBe('ready');
  });

  it('are unavailable where there is no access to an API server', () => {
    const { resolve } = world({ backends: () => ({ x: bySigner }), isApart: true });
    expect(resolve('x')).toMatchObject({
      problem: {
        cause: 'unavailable',
        error: { code: 'bundle-no-api', message: expect.stringContaining('the bundle x') as unknown },
      },
    });
  });
});

describe('a name', () => {
  it('that the deployment does not offer is refused, and the message has those that it offers', () => {
    const { resolve } = world({ backends: () => ({ b: bySigner, a: ofSigner }), isApart: true });
    expect(resolve('c', 'a')).toMatchObject({
      problem: {
        cause: 'unknown-name',
        bundle: 'c',
        error: { code: 'bundle-unknown', remedy: expect.stringContaining('a, b') as unknown },
      },
    });
    expect(resolve('__proto__')).toMatchObject({ problem: { cause: 'unknown-name' } });
  });

  it('joined with others gives one file of all of them, or the first problem in the order of the names', async () => {
    const { resolve, whenItIs, folder } = world({
      backends: (at) => ({
        ...{ x: { kind: 'file', path: at.file('x.pem') }, y: { kind: 'file', path: at.file('y.pem') } },
        ...{ none: { kind: 'file', path: at.file('none.pem') } },
      }),
    });
    writeFileSync(folder.file('x.pem'), pem([a, b]));
    writeFileSync(folder.file('y.pem'), pem([b]));
    const { pemBundle } = await whenItIs('ready', 'y', 'x');
    expect(pemBundle).toBe(bundleText([a, b]));
    // asked again, it is the same text and not another of its kind
    expect(resolve('y', 'x')).toMatchObject({ pemBundle });
    expect(await whenItIs('refused', 'x', 'none', 'unknown')).toMatchObject({
      problem: { cause: 'missing-object', bundle: 'none' },
    });
  });

  it('is pending until each of the joined is known', async () => {
    const { resolve, whenItIs, folder } = world({
      backends: (at) => ({ x: { kind: 'file', path: at.file('x.pem') }, api: bySigner }),
    });
    writeFileSync(folder.file('x.pem'), pem([a]));
    expect(resolve('x', 'api').kind).toBe('pending');
    expect(await whenItIs('refused', 'x', 'api')).toMatchObject({ problem: { bundle: 'api' } });
  });
});

describe('what is in a bundle', () => {
  it('raises an alarm when it is a private key, in log and metrics and without its bytes', async () => {
    const { whenItIs, folder, log, sample } = world({
      backends: (at) => ({ x: { kind: 'file', path: at.file('x.pem') } }),
    });
    const key = makeKey().export({ format: 'pem', type: 'pkcs8' }).toString();
    writeFileSync(folder.file('x.pem'), pem([a]) + key);
    expect(await whenItIs('refused', 'x')).toMatchObject({
      problem: { cause: 'unusable', bundle: 'x', error: { code: 'pem-private-key' } },
    });
    expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
    expect(JSON.stringify(log.lines)).not.toContain(key.split('\n')[1]);
    expect(await sample('leafgate_bundle_private_keys_total')).toBe('1');
    expect(await sample('leafgate_bundle_refusals_total{reason="private-key"}')).toBe('1');
  });

  it('is kept when it has expired, named in the log and counted; nothing but expired ones is refused', async () => {
    const clock = createFakeClock(testNow);
    const short = makeCa({ name: 'short', notAfter: (testNow + 30 * 60_000) as typeof testNow }).certificate;
    const { resolve, log, sample, api, serve } = world({ backends: () => ({ x: bySigner, y: ofSigner }), clock });
    serve('certificates.k8s.io/v1');
    const only = bundleObject({ name: 'only', signerName, trustBundle: pem([short]) });
    api.nextList(listOf('1', { ...main, spec: { signerName, trustBundle: pem([a, short]) } }));
    resolve('x');
    await waitFor('the bundle', () => resolve('x').kind === 'ready');
    expect(await sample('leafgate_bundle_expired_anchors')).toBe('0');
    clock.advance(3_600_000);
    const later = resolve('x');
    expect(later).toMatchObject({ kind: 'ready', pemBundle: bundleText([a, short]) });
    expect(log.lines.filter(({ sentence }) => sentence === 'an expired certificate is kept in a bundle')).toHaveLength(
      1,
    );
    expect(JSON.stringify(log.lines)).toContain(`SHA-256 ${short.sha256}`);
    expect(await sample('leafgate_bundle_expired_anchors')).toBe('1');
    const grown = { ...main, spec: { signerName, trustBundle: pem([a, b, short]) } };
    api.open().terms.onEvent({ kind: 'put', object: grown });
    expect(resolve('x')).toMatchObject({ pemBundle: bundleText([a, b, short]) });
    expect(log.lines.filter(({ sentence }) => sentence.includes('an expired certificate'))).toHaveLength(1);
    api.nextList(listOf('1', only));
    resolve('y');
    await waitFor('the other bundle', () => resolve('y').kind === 'refused');
    expect(resolve('y')).toMatchObject({ problem: { cause: 'unusable', error: { code: 'bundle-expired' } } });
    // also where nothing else is left
    expect(await sample('leafgate_bundle_expired_anchors')).toBe('2');
  });

  it('is told to nobody after the resolver was closed', async () => {
    const { serve, api, whenItIs, resolver, changes, log } = world({ backends: () => ({ x: bySigner }) });
    serve('certificates.k8s.io/v1');
    api.nextList(listOf('1', main));
    await whenItIs('ready', 'x');
    const { terms } = api.open();
    const before = [changes(), log.lines.length];
    await resolver.close();
    terms.onEvent({ kind: 'gone', object: main });
    expect([changes(), log.lines.length]).toEqual(before);
  });
});

describe('a resolver that is closed', () => {
  it('waits for nothing more, so that one of an older list does not stay in memory', async () => {
    const clock = createFakeClock(testNow);
    const { resolver, resolve } = world({ backends: () => ({ x: bySigner }), clock });
    resolve('x');
    await waitFor('the wait for the API', () => clock.pendingTimers() === 2);
    await resolver.close();
    expect(clock.pendingTimers()).toBe(0);
  });
});
