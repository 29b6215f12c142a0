// Whose a ClusterTrustBundle is that stands under the name of a gateway's. Pure.
import type { KubeObject } from '../kube/kube-types.ts';
import type { BundleGateway } from './build-bundle.ts';
import { bundleOwner, isBundleOf, type BundleOwner } from './bundle-record.ts';
import type { ObjectName } from './controller-types.ts';

/** `unknown`: the owner is where this controller does not look */
export type OwnerState = 'claims' | 'gone' | 'unknown';

export type BundleClaim =
  | { readonly kind: 'ours' }
  /** of no gateway that there is: nothing says where its content came from */
  | { readonly kind: 'nobody' }
  | { readonly kind: 'other'; readonly owner: ObjectName; readonly isCertain: boolean };

export function claimBundle(existing: KubeObject, gateway: BundleGateway, ownerState: OwnerState): BundleClaim {
  const owner = bundleOwner(existing);
  if (owner === undefined) return { kind: 'nobody' };
  if (isBundleOf(gateway, existing)) return { kind: 'ours' };
  if (ownerState === 'gone') return { kind: 'nobody' };
  // an edit of the name alone must not take a bundle from its gateway for good
  if (ownerState === 'unknown' && gateway.uid !== '' && owner.uid === gateway.uid) return { kind: 'ours' };
  const { namespace, name } = owner;
  return { kind: 'other', owner: { namespace, name }, isCertain: ownerState === 'claims' };
}

export type KnownGateways = {
  readonly isWatched: (namespace: string) => boolean;
  /** undefined: there is none of that name */
  readonly find: (place: ObjectName) => { readonly objectName: string | undefined } | undefined;
};

/**
 * `objectName` of a gateway: the bundle that its spec names, undefined when its spec cannot be read. One that was made
 * again with another bundle has let go of the first.
 */
export function ownerStateOf(owner: BundleOwner, objectName: string, gateways: KnownGateways): OwnerState {
  if (!gateways.isWatched(owner.namespace)) return 'unknown';
  const found = gateways.find(owner);
  if (found === undefined) return 'gone';
  return found.objectName === undefined || found.objectName === objectName ? 'claims' : 'gone';
}
