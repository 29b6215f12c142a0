// Before an uninstall: takes the finalizer off every gateway, so that none hangs when nobody is left to take it off. Bundles
// stay as they are.
import { LeafgateError } from '../errors.ts';
import type { KubeClient } from '../kube/kube-types.ts';
import { fieldManagers } from './field-managers.ts';
import { finalizerPatch } from './finalizer-patch.ts';
import { egressGateways } from './watched-kinds.ts';

export type Release = {
  readonly namespace: string;
  readonly name: string;
  readonly outcome: 'released' | 'had-none' | 'failed';
  /** of what failed */
  readonly error?: LeafgateError;
};

export async function releaseGateways(
  namespaces: readonly string[],
  client: Pick<KubeClient, 'list' | 'mergePatch'>,
): Promise<readonly Release[]> {
  const releases: Release[] = [];
  for (const namespace of namespaces) {
    const { items } = await client.list({ resource: egressGateways, namespace });
    for (const gateway of items) {
      const { name } = gateway.metadata;
      const patch = finalizerPatch(gateway, false);
      if (patch === undefined) {
        releases.push({ namespace, name, outcome: 'had-none' });
        continue;
      }
      try {
        await client.mergePatch({ resource: egressGateways, namespace, name }, patch, {
          fieldManager: fieldManagers.finalizer,
        });
        releases.push({ namespace, name, outcome: 'released' });
      } catch (thrown) {
        releases.push({ namespace, name, outcome: 'failed', error: LeafgateError.from(thrown) });
      }
    }
  }
  return releases;
}
