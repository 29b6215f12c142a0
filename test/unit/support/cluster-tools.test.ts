// Which Kubernetes programs the cluster tests take: those that the environment names come before those that are built here.
import { expect, test } from 'vitest';
import { givenProgram } from '../../support/install-parts/cluster-tools.mjs';

test.each([
  ['nothing is named', {}, undefined],
  ['a folder of assets is named, as envtest has it', { KUBEBUILDER_ASSETS: '/assets' }, '/assets/kube-apiserver'],
  ['the folder is empty text', { KUBEBUILDER_ASSETS: '' }, undefined],
  [
    'the program itself is named too',
    { KUBEBUILDER_ASSETS: '/assets', TEST_ASSET_KUBE_APISERVER: '/own/apiserver' },
    '/own/apiserver',
  ],
])('the API server that is taken where %s', (_, env, program) => {
  expect(givenProgram('kube-apiserver', env)).toBe(program);
});

test('what no such folder has is built, whatever is named', () => {
  expect(givenProgram('ctb-oracle', { KUBEBUILDER_ASSETS: '/assets' })).toBeUndefined();
});
