// The client of the cluster that bundles come from. Loaded only when one does: it brings an HTTP client along that weighs
// more than all that a pod whose bundles are files needs.
import { createKubeClient } from '../kube/create-kube-client.ts';
import { findClusterAccess, type AccessRequest } from '../kube/find-cluster-access.ts';
import type { KubeClient } from '../kube/kube-types.ts';

/** Throws where nothing says how to reach it. */
export async function connectCluster(request: AccessRequest): Promise<KubeClient> {
  return createKubeClient({ access: await findClusterAccess(request), clock: request.clock });
}
