// Which ClusterTrustBundles a backend means, as a kubelet chooses them: one by its name, or every one of a signer that has
// the labels. Pure.
import { bundleContent } from '../kube/bundle-content.ts';
import type { KubeObject } from '../kube/kube-types.ts';
import type { BundleBackend } from '../settings/bundle-allowlist.ts';
import type { BackingState } from './backing.ts';
import { bundleErrors } from './bundle-errors.ts';
import type { BundleQuery, ObjectsState } from './follow-bundle-objects.ts';
import type { BackingText } from './sanitise-bundle.ts';

export type ClusterBackend = Extract<BundleBackend, { readonly kind: `cluster-trust-bundle${string}` }>;

/** What is asked of the API server; signers are told apart here, since it selects by none in every version. */
export function queryFor(backend: ClusterBackend): BundleQuery {
  if (backend.kind === 'cluster-trust-bundle') return { name: backend.name };
  const labels = labelText(backend.matchLabels);
  return labels === '' ? {} : { labelSelector: labels };
}

export function backingStateOf(backend: ClusterBackend, objects: ObjectsState): BackingState {
  switch (objects.kind) {
    case 'pending':
      return objects;
    case 'failed':
      return { kind: 'failed', cause: 'unavailable', error: objects.error };
    case 'seen': {
      const texts = objects.items.filter((item) => isMeant(backend, item)).map(textOf);
      if (texts.length > 0) return { kind: 'texts', texts };
      const error = bundleErrors.error('bundle-object-missing', { what: whatIs(backend) });
      return { kind: 'failed', cause: 'missing-object', error };
    }
    default:
      return objects satisfies never;
  }
}

function isMeant(backend: ClusterBackend, object: KubeObject): boolean {
  if (backend.kind === 'cluster-trust-bundle') return object.metadata.name === backend.name;
  const labels = new Map(Object.entries(object.metadata.labels ?? {}));
  const hasLabels = Object.entries(backend.matchLabels).every(([key, value]) => labels.get(key) === value);
  return hasLabels && bundleContent(object).signerName === backend.signerName;
}

function textOf(object: KubeObject): BackingText {
  return { source: `ClusterTrustBundle "${object.metadata.name}"`, text: bundleContent(object).trustBundle };
}

function whatIs(backend: ClusterBackend): string {
  if (backend.kind === 'cluster-trust-bundle') return `ClusterTrustBundle "${backend.name}"`;
  const labels = labelText(backend.matchLabels);
  const which = labels === '' ? '' : ` with the labels ${labels}`;
  return `ClusterTrustBundle of the signer ${backend.signerName}${which}`;
}

/** sorted, so that equal choices are one query */
function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .toSorted()
    .join(',');
}
