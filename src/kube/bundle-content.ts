// What stands in the spec of a ClusterTrustBundle, in every version of it. Pure.
import { isRecord } from '../is-record.ts';
import type { KubeObject } from './kube-types.ts';

export type BundleContent = { readonly signerName: string; readonly trustBundle: string };

/** empty where it has none */
export function bundleContent(bundle: KubeObject): BundleContent {
  const { signerName, trustBundle } = isRecord(bundle['spec']) ? bundle['spec'] : {};
  return { signerName: textOr(signerName), trustBundle: textOr(trustBundle) };
}

function textOr(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
