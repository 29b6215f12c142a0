import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { probeAccess, type ProbeTerms } from '../../../src/controller/probe-access.ts';
import { isSignerAllowed } from '../../../src/controller/signer-bounds.ts';
import { LeafgateError } from '../../../src/errors.ts';
import { bundleResource } from '../../../src/kube/find-bundle-version.ts';
import { kubeError, ownFailure, type KubeFailureKind } from '../../../src/kube/kube-failure.ts';
import type { AccessQuestion, KubeObject } from '../../../src/kube/kube-types.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const terms: ProbeTerms = {
  namespaces: ['egress'],
  signers: [{ namespace: 'egress', domain: 'egress.example.com', path: 'mitm' }],
  lease: { namespace: 'system', name: 'lease' },
  bundles: [],
  bundleResource: bundleResource('v1'),
};

type Answers = {
  readonly allows?: (question: AccessQuestion) => boolean;
  /** of every bundle that is tried */
  readonly refuses?: KubeFailureKind;
};

function createApi({ allows = () => true, refuses }: Answers) {
  const tried: string[] = [];
  const client = {
    mayI: (question: AccessQuestion) => Promise.resolve({ allowed: allows(question) }),
    apply: (_place: unknown, body: KubeObject, { dryRun }: { readonly dryRun?: boolean }) => {
      if (dryRun !== true) throw new Error('written in earnest');
      tried.push(body.metadata.name);
      if (refuses === undefined) return Promise.resolve(body);
      return Promise.reject(kubeError('apply', ownFailure(refuses, 'no, said the server')));
    },
  };
  return { tried, parts: { client, clock: createFakeClock(), randomBytes: (count: number) => randomBytes(count) } };
}

async function codesOf(probe: Promise<readonly LeafgateError[]>): Promise<readonly string[]> {
  try {
    return (await probe).map(({ code }) => `warned: ${code}`);
  } catch (thrown) {
    const error = LeafgateError.from(thrown);
    return (error.problems.length > 0 ? error.problems : [error]).map(({ code }) => code);
  }
}

test('with every right a bundle of each signer is tried, and nothing is said', async () => {
  const { tried, parts } = createApi({});
  expect(await codesOf(probeAccess(terms, parts))).toEqual([]);
  expect(tried).toEqual(['egress.example.com:mitm:leafgate-probe']);
});

test('a signer may be attested by its name or by its whole domain', async () => {
  for (const name of ['egress.example.com/mitm', 'egress.example.com/*']) {
    const { parts } = createApi({ allows: (question) => question.verb !== 'attest' || question.name === name });
    expect(await codesOf(probeAccess(terms, parts))).toEqual([]);
  }
  const { parts } = createApi({ allows: ({ verb, name }) => verb !== 'attest' || name === 'other.example.com/*' });
  expect(await codesOf(probeAccess(terms, parts))).toEqual(['controller-rule-missing']);
});

test('all rules that are missing are said at once, by verb, resource, name and namespace', async () => {
  const { tried, parts } = createApi({ allows: ({ resource }) => resource !== 'leases' });
  const failed: unknown = await probeAccess(terms, parts).catch((thrown: unknown) => thrown);
  expect(LeafgateError.from(failed).problems.map(({ message }) => message)).toEqual([
    'the API server does not let the controller get on leases.coordination.k8s.io "lease" in namespace system',
    'the API server does not let the controller update on leases.coordination.k8s.io "lease" in namespace system',
    'the API server does not let the controller create on leases.coordination.k8s.io in namespace system',
  ]);
  expect(LeafgateError.from(failed).exitCode).toBe(3);
  expect(tried).toEqual([]);
});

test('rights on bundles by name are enough, and what one gateway lacks only warns', async () => {
  const named = 'egress.example.com:mitm:one';
  const { tried, parts } = createApi({
    allows: ({ resource, verb, name }) =>
      resource !== 'clustertrustbundles' || ['get', 'list', 'watch'].includes(verb) || name === named,
  });
  const bundles = [named, 'egress.example.com:mitm:two'].map((objectName) => ({
    ...{ namespace: 'egress', signerName: 'egress.example.com/mitm', objectName },
  }));
  expect(await codesOf(probeAccess({ ...terms, bundles }, parts))).toEqual([
    ...['create', 'patch', 'delete'].map(() => 'warned: controller-rule-missing'),
  ]);
  expect(tried).toEqual([named]);
});

test('an admission plugin that refuses every bundle stops the start', async () => {
  const { parts } = createApi({ refuses: 'forbidden' });
  expect(await codesOf(probeAccess(terms, parts))).toEqual(['controller-bundle-refused']);
});

test('a cluster that serves no bundles is not asked to take one', async () => {
  const { tried, parts } = createApi({ refuses: 'not-found' });
  expect(await codesOf(probeAccess({ ...terms, bundleResource: undefined }, parts))).toEqual([]);
  expect(tried).toEqual([]);
});

test.each([
  ['egress', 'a.example.com/one', true],
  ['egress', 'a.example.com/two', true],
  ['egress', 'b.example.com/one', true],
  ['egress', 'b.example.com/two', false],
  ['other', 'a.example.com/one', false],
  ['egress', 'example.com/one', false],
  ['egress', 'x.a.example.com/one', false],
  ['egress', 'no-signer', false],
])('in %s the signer %s is allowed: %s', (namespace, signerName, isAllowed) => {
  const bounds = [
    { namespace: 'egress', domain: 'a.example.com', path: undefined },
    { namespace: 'egress', domain: 'b.example.com', path: 'one' },
  ];
  expect(isSignerAllowed(bounds, namespace, signerName)).toBe(isAllowed);
});
