// From the list of bundles to what resolves them. The cluster is looked for only when a bundle comes from it: in a pod
// whose bundles are files there is no API token, and nobody misses it.
import type { KubeClient } from '../kube/kube-types.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { Log } from '../observe/log.ts';
import type { BundleViews } from '../projection/bundle-views.ts';
import { needsCluster, probeBundleAccess } from '../projection/probe-bundle-access.ts';
import { createBundleResolver, type BundleResolver } from '../projection/resolve-bundles.ts';
import type { BundleAllowlist } from '../settings/bundle-allowlist.ts';
import type { Closers } from './closers.ts';
import type { Io } from './command-context.ts';
import type { ProjectSettings } from './project-options.ts';

export type BundleParts = {
  readonly settings: ProjectSettings;
  readonly io: Io;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly views: BundleViews;
  readonly closers: Closers;
};

export interface BundleOpener {
  /** Throws where nothing says how to reach the cluster that a bundle comes from. */
  open(allowlist: BundleAllowlist): Promise<BundleResolver>;
  /**
   * Throws what stands against reading bundles from the cluster; asks nothing where none comes from there. `retried`: the
   * API server could not be asked, and is asked again.
   */
  probe(allowlist: BundleAllowlist, retried?: () => void): Promise<void>;
}

export function createBundleOpener({ settings, io, log, metrics, views, closers }: BundleParts): BundleOpener {
  const { clock } = io;
  let client: Promise<KubeClient> | undefined;
  const connect = async (): Promise<KubeClient> => {
    const { kubeconfigFile } = settings;
    const { connectCluster } = await import('./connect-cluster.ts');
    const made = await connectCluster({
      ...{ env: io.env, clock, log },
      ...(kubeconfigFile === undefined ? {} : { kubeconfigFile }),
    });
    closers.add('Kubernetes API', () => made.close());
    return made;
  };
  const clientFor = async (allowlist: BundleAllowlist): Promise<KubeClient | undefined> => {
    if (!needsCluster(allowlist)) return undefined;
    client ??= connect();
    try {
      return await client;
    } catch (thrown) {
      client = undefined;
      throw thrown;
    }
  };
  return {
    open: async (allowlist) => {
      const { rootsFrom } = settings;
      const kube = await clientFor(allowlist);
      return createBundleResolver({
        ...{ allowlist, kube, clock, log, metrics, views, random: Math.random },
        ...(rootsFrom === undefined ? {} : { rootsFrom }),
      });
    },
    probe: async (allowlist, retried = () => undefined) => {
      const kube = await clientFor(allowlist);
      if (kube !== undefined) await probeBundleAccess(allowlist, { client: kube, clock, log, retried });
    },
  };
}
