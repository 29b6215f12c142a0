// Whose the ConfigMap is that stands under the name of a gateway's files. One that somebody else has made is not written over,
// taken for the gateway's last good files, or given an owner with which it would be deleted. Pure.
import { isRecord } from '../is-record.ts';
import type { KubeObject } from '../kube/kube-types.ts';
import { egressGateways } from './watched-kinds.ts';

export const filesLabels = { managedBy: 'app.kubernetes.io/managed-by', gateway: 'leafgate.dev/gateway' } as const;
export const filesManager = 'leafgate';

/** Label or owner is enough, so that an edit of one of them is mended. The owner may be a former gateway of that name. */
export function isFilesOf(gatewayName: string, { metadata }: KubeObject): boolean {
  const { labels = {} } = metadata;
  if (labels[filesLabels.managedBy] === filesManager && labels[filesLabels.gateway] === gatewayName) return true;
  const owners: unknown = Reflect.get(metadata, 'ownerReferences');
  return Array.isArray(owners) && owners.some((owner: unknown) => isGateway(owner, gatewayName));
}

function isGateway(owner: unknown, gatewayName: string): boolean {
  return isRecord(owner) && owner['kind'] === egressGateways.kind && owner['name'] === gatewayName;
}
