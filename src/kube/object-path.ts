// Where an object or a list of objects stands in the API's URLs, and how errors name a call. Pure.
import { kubeError, ownFailure } from './kube-failure.ts';
import type { KubeResource, ObjectPlace, ObjectQuery } from './kube-types.ts';

export type Parameters = { readonly [name: string]: string | boolean | number | undefined };

/** Throws `kube-invalid` for a name that no object can have and that would lead elsewhere. */
export function objectPath({ resource, namespace, name }: ObjectPlace, subresource?: string): string {
  const below = subresource === undefined ? '' : `/${subresource}`;
  return `${collectionPath(resource, namespace)}/${segment(name, 'name')}${below}`;
}

export function collectionPath(resource: KubeResource, namespace: string | undefined): string {
  const scope =
    resource.isNamespaced && namespace !== undefined ? `/namespaces/${segment(namespace, 'namespace')}` : '';
  return `${groupVersionPath(groupVersionOf(resource))}${scope}/${segment(resource.plural, 'resource')}`;
}

/** `v1` or `certificates.k8s.io/v1` */
export function groupVersionOf({ group, version }: KubeResource): string {
  return group === '' ? version : `${group}/${version}`;
}

export function groupVersionPath(groupVersion: string): string {
  const segments = groupVersion.split('/').map((part) => segment(part, 'group version'));
  return `${segments.length === 1 ? '/api' : '/apis'}/${segments.join('/')}`;
}

/** `?a=b&c=d`, or nothing; what is undefined or false is left out */
export function queryText(parameters: Parameters): string {
  const pairs = Object.entries(parameters)
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

export function selectorsOf({ name, labelSelector }: ObjectQuery): Parameters {
  return { fieldSelector: name === undefined ? undefined : `metadata.name=${selectorValue(name)}`, labelSelector };
}

/** `get secrets "egress/pool"`, `list secrets in namespace egress` */
export function callText(verb: string, query: Partial<ObjectPlace> & ObjectQuery): string {
  const { plural, group } = query.resource;
  return `${verb} ${plural}${group === '' ? '' : `.${group}`}${whichText(query)}`;
}

function whichText({ namespace, name }: ObjectQuery): string {
  if (name === undefined) return namespace === undefined ? '' : ` in namespace ${namespace}`;
  return ` "${namespace === undefined ? '' : `${namespace}/`}${name}"`;
}

/** apimachinery's escaping of a field selector's value */
function selectorValue(text: string): string {
  return text.replace(/[\\,=]/g, (char) => `\\${char}`);
}

function segment(text: string, what: string): string {
  if (text === '' || text === '.' || text === '..' || /[/%\u0000-\u0020\u007f]/.test(text)) {
    throw kubeError('the call was not made', ownFailure('invalid', `"${text}" is no ${what}`));
  }
  return encodeURIComponent(text);
}
