import { expect, it } from 'vitest';
import { bundleResource, findBundleVersion } from '../../../src/kube/find-bundle-version.ts';

const serving = (lists: Readonly<Record<string, readonly string[]>>) => ({
  resourcesOf: (groupVersion: string) => Promise.resolve(lists[groupVersion]),
});

it.each([
  ['v1', { 'certificates.k8s.io/v1': ['clustertrustbundles'], 'certificates.k8s.io/v1beta1': ['clustertrustbundles'] }],
  // the group serves v1 for something else, and calls it preferred
  ['v1beta1', { 'certificates.k8s.io/v1': ['x'], 'certificates.k8s.io/v1beta1': ['clustertrustbundles'] }],
  ['v1alpha1', { 'certificates.k8s.io/v1alpha1': ['clustertrustbundles'] }],
  [undefined, { 'certificates.k8s.io/v1': ['certificatesigningrequests'] }],
] as const)('finds %s in what the server lists', async (version, lists) => {
  expect(await findBundleVersion(serving(lists))).toBe(version);
  if (version !== undefined) expect(bundleResource(version)).toMatchObject({ version, isNamespaced: false });
});

it('does not take a server that cannot be asked for one that serves none', async () => {
  const silent = { resourcesOf: () => Promise.reject(new Error('down')) };
  await expect(findBundleVersion(silent)).rejects.toThrow('down');
});
