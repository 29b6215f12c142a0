// How our finalizer comes onto a gateway and off it again, whoever does it. Pure.
import type { KubeObject } from '../kube/kube-types.ts';
import { bundleFinalizer } from './field-managers.ts';

/** A merge patch; undefined: it is so already. */
export function finalizerPatch({ metadata }: KubeObject, isKept: boolean): object | undefined {
  const { resourceVersion, finalizers = [] } = metadata;
  if (finalizers.includes(bundleFinalizer) === isKept) return undefined;
  const others = finalizers.filter((finalizer) => finalizer !== bundleFinalizer);
  // the list is replaced whole: with the resourceVersion nobody else's finalizer can be lost
  return { metadata: { resourceVersion, finalizers: isKept ? [...others, bundleFinalizer] : others } };
}
