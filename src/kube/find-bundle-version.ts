// Which version of ClusterTrustBundle an API server serves: the newest whose resource list has it. Never judged by the
// server's version, which says nothing under emulation, nor by the group's preferred one, nor by trying a list, which a
// user without rights is refused whether it is served or not (measured on 1.37).
import type { KubeClient, KubeResource } from './kube-types.ts';

const group = 'certificates.k8s.io';
const plural = 'clustertrustbundles';
const versions = ['v1', 'v1beta1', 'v1alpha1'] as const;

export type BundleVersion = (typeof versions)[number];

/** Undefined: none is served. Rejects when the server cannot be asked. */
export async function findBundleVersion(client: Pick<KubeClient, 'resourcesOf'>): Promise<BundleVersion | undefined> {
  for (const version of versions) {
    const served = await client.resourcesOf(`${group}/${version}`);
    if (served?.includes(plural) === true) return version;
  }
  return undefined;
}

export function bundleResource(version: BundleVersion): KubeResource {
  return { group, version, plural, kind: 'ClusterTrustBundle', isNamespaced: false };
}
