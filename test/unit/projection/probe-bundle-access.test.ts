import { setImmediate as settled } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { LeafgateError, problemsOf } from '../../../src/errors.ts';
import { kubeError, ownFailure, type KubeFailureKind } from '../../../src/kube/kube-failure.ts';
import type { AccessQuestion } from '../../../src/kube/kube-types.ts';
import { needsCluster, probeBundleAccess } from '../../../src/projection/probe-bundle-access.ts';
import type { BundleAllowlist, BundleBackend } from '../../../src/settings/bundle-allowlist.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { recordingLog } from '../../support/recording-log.ts';

const bySigner: BundleBackend = { kind: 'cluster-trust-bundles', signerName: 'example.com/mitm', matchLabels: {} };
const byName: BundleBackend = { kind: 'cluster-trust-bundle', name: 'example.com:mitm:a' };
const file: BundleBackend = { kind: 'file', path: '/ca.pem' };
const list = (...backends: readonly BundleBackend[]): BundleAllowlist =>
  new Map(backends.map((backend, index) => [`bundle-${index}`, backend]));

type Cluster = {
  readonly allows?: (question: AccessQuestion) => boolean;
  readonly serves?: boolean;
  readonly fails?: KubeFailureKind;
};

function createCluster({ allows = () => true, serves = true, fails }: Cluster) {
  const asked: AccessQuestion[] = [];
  const { log, lines } = recordingLog();
  const clock = createFakeClock();
  let attempts = 0;
  const client = {
    resourcesOf: async () => {
      attempts += 1;
      if (fails !== undefined) throw kubeError('list', ownFailure(fails, 'no'));
      return serves ? ['clustertrustbundles'] : undefined;
    },
    mayI: async (question: AccessQuestion) => {
      asked.push(question);
      return { allowed: allows(question) };
    },
  };
  return { asked, lines, clock, attempts: () => attempts, parts: { client, clock, log } };
}

const codesOf = (thrown: unknown): readonly string[] => problemsOf(thrown).map(({ code }) => code);

test('a list without bundles of the cluster needs none', () => {
  expect(needsCluster(list(file, { kind: 'system-roots' }))).toBe(false);
  expect([needsCluster(list(file, byName)), needsCluster(list(bySigner))]).toEqual([true, true]);
});

test('one bundle is asked for by its name, and all of them when any is chosen by its signer', async () => {
  const one = createCluster({});
  await probeBundleAccess(list(byName, file, byName), one.parts);
  expect(one.asked.map(({ verb, name }) => `${verb} ${name}`)).toEqual([
    'list example.com:mitm:a',
    'watch example.com:mitm:a',
  ]);
  const all = createCluster({});
  await probeBundleAccess(list(byName, bySigner), all.parts);
  expect(all.asked.map(({ verb, name }) => [verb, name])).toEqual([
    ['list', undefined],
    ['watch', undefined],
  ]);
});

test('each missing rule is named so that it can be written down, with what it belongs into', async () => {
  const { parts } = createCluster({ allows: ({ verb }) => verb !== 'watch' });
  const thrown = await probeBundleAccess(list(byName), parts).catch((error: unknown) => LeafgateError.from(error));
  expect(thrown).toMatchObject({ code: 'trust-rule-missing' });
  expect((thrown as LeafgateError).message).toContain(
    'watch on clustertrustbundles.certificates.k8s.io "example.com:mitm:a"',
  );
  expect((thrown as LeafgateError).remedy).toContain('ClusterRole');
  const { parts: none } = createCluster({ allows: () => false });
  const all = await probeBundleAccess(list(bySigner), none).catch(codesOf);
  expect(all).toEqual(['trust-rule-missing', 'trust-rule-missing']);
});

test('an API server that serves no bundles is a warning', async () => {
  const { parts, lines } = createCluster({ serves: false });
  await probeBundleAccess(list(bySigner), parts);
  expect(lines.map(({ level }) => level)).toEqual(['warn']);
});

test('what passes is tried again for a short while, then given up', async () => {
  const { parts, clock, attempts } = createCluster({ fails: 'unavailable' });
  const outcome = probeBundleAccess(list(bySigner), parts).catch(codesOf);
  for (const wait of [1000, 2000, 4000, 8000]) {
    await settled();
    clock.advance(wait);
  }
  expect([await outcome, attempts()]).toEqual([['trust-api-unavailable'], 5]);
});

test('what does not pass fails at once', async () => {
  const { parts, attempts } = createCluster({ fails: 'unauthorized' });
  expect(await probeBundleAccess(list(bySigner), parts).catch(codesOf)).toEqual(['kube-unauthorized']);
  expect(attempts()).toBe(1);
});
