// The product's own client, and what follows with it, as a user of a control plane.
import { systemClock } from '../../../src/clock.ts';
import type { DurationMs } from '../../../src/clock.ts';
import { createKubeClient } from '../../../src/kube/create-kube-client.ts';
import { findClusterAccess } from '../../../src/kube/find-cluster-access.ts';
import { followObjects } from '../../../src/kube/follow-objects.ts';
import type { ObjectFollower } from '../../../src/kube/follow-objects.ts';
import type { KubeClient, ObjectQuery } from '../../../src/kube/kube-types.ts';
import { createListeningLog } from '../kube-world.ts';

export async function kubeClientFor(
  { kubeconfigFile }: { readonly kubeconfigFile: string },
  callTimeoutMs?: DurationMs,
): Promise<KubeClient> {
  const access = await findClusterAccess({ env: {}, clock: systemClock, log: createListeningLog(), kubeconfigFile });
  return createKubeClient({
    access,
    clock: systemClock,
    ...(callTimeoutMs === undefined ? {} : { callTimeoutMs }),
  });
}

export type ListeningFollower = { readonly follower: ObjectFollower; readonly told: readonly string[] };

/** `told`: `put NAME` and `gone NAME`, in order */
export function followListening(client: Pick<KubeClient, 'list' | 'watch'>, query: ObjectQuery): ListeningFollower {
  const told: string[] = [];
  const follower = followObjects({
    client,
    query,
    clock: systemClock,
    random: Math.random,
    log: createListeningLog(),
    onChange: (change) => {
      told.push(change.kind === 'put' ? `put ${change.object.metadata.name}` : `gone ${change.name}`);
    },
  });
  return { follower, told };
}
