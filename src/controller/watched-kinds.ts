// The kinds of objects that the controller reads or writes, as the Kubernetes API serves them.
import type { KubeResource, ObjectPlace } from '../kube/kube-types.ts';

export const egressGateways: KubeResource = {
  group: 'leafgate.dev',
  version: 'v1alpha1',
  plural: 'egressgateways',
  kind: 'EgressGateway',
  isNamespaced: true,
};

export const secrets: KubeResource = core('secrets', 'Secret');
export const configMaps: KubeResource = core('configmaps', 'ConfigMap');

export const deployments: KubeResource = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  isNamespaced: true,
};

function core(plural: string, kind: string): KubeResource {
  return { group: '', version: 'v1', plural, kind, isNamespaced: true };
}

/** the same text for the same object, whatever it was made from */
export function placeKey({ resource, namespace = '', name }: ObjectPlace): string {
  return [resource.group, resource.version, resource.plural, namespace, name].join('/');
}
