// A resolver with everything that it follows: files in a folder, a scripted API server with ClusterTrustBundles, a log and
// metrics to look at.
import { afterEach } from 'vitest';
import { systemClock, type Clock } from '../../src/clock.ts';
import type { KubeObject } from '../../src/kube/kube-types.ts';
import { createMetrics } from '../../src/observe/create-metrics.ts';
import { createBundleViews, type BundleViews } from '../../src/projection/bundle-views.ts';
import {
  createBundleResolver,
  type BundleResolver,
  type BundleResolverOptions,
  type ResolvedSource,
} from '../../src/projection/resolve-bundles.ts';
import type { BundleBackend } from '../../src/settings/bundle-allowlist.ts';
import { createListeningLog } from './kube-world.ts';
import { createScriptedKubeClient, type ScriptedKubeClient } from './scripted-kube-client.ts';
import { createTempFolder, type TempFolder } from './temp-folder.ts';
import { waitFor } from './wait-for.ts';

export type BundleWorld = {
  readonly folder: TempFolder;
  readonly api: ScriptedKubeClient;
  readonly log: ReturnType<typeof createListeningLog>;
  readonly resolver: BundleResolver;
  readonly views: BundleViews;
  /** how often anything changed */
  readonly changes: () => number;
  readonly resolve: (...names: readonly string[]) => ResolvedSource;
  /** what `names` are as soon as they are of this kind */
  readonly whenItIs: <Kind extends ResolvedSource['kind']>(
    kind: Kind,
    ...names: readonly string[]
  ) => Promise<Extract<ResolvedSource, { readonly kind: Kind }>>;
  /** one sample of the metrics, as it is written */
  readonly sample: (name: string) => Promise<string | undefined>;
  /** what the API server says of the versions that it serves; none by default */
  readonly serve: (...versions: readonly string[]) => void;
};

export type BundleWorldRequest = {
  readonly backends: (folder: TempFolder) => Readonly<Record<string, BundleBackend>>;
  readonly clock?: Clock;
  readonly rootsFrom?: string;
  /** without access to an API server */
  readonly isApart?: boolean;
};

/** Closed and removed after the test. */
export function createBundleWorlds(): (request: BundleWorldRequest) => BundleWorld {
  const open: BundleWorld[] = [];
  afterEach(async () => {
    for (const { resolver, folder } of open.splice(0)) {
      await resolver.close();
      folder.remove();
    }
  });
  return (request) => {
    const world = createBundleWorld(request);
    open.push(world);
    return world;
  };
}

function createBundleWorld({ backends, clock, rootsFrom, isApart }: BundleWorldRequest): BundleWorld {
  const folder = createTempFolder();
  const api = createScriptedKubeClient();
  const log = createListeningLog();
  const metrics = createMetrics({ withProcessMetrics: false });
  const time = clock ?? systemClock;
  const views = createBundleViews({ clock: time, log, metrics });
  let served: readonly string[] = [];
  let changes = 0;
  const resourcesOf = (version: string): Promise<readonly string[] | undefined> =>
    Promise.resolve(served.includes(version) ? ['clustertrustbundles'] : undefined);
  const options: BundleResolverOptions = {
    allowlist: new Map(Object.entries(backends(folder))),
    kube: isApart === true ? undefined : { ...api, resourcesOf },
    ...{ clock: time, random: () => 0, log, metrics, views },
    ...(rootsFrom === undefined ? {} : { rootsFrom }),
  };
  const resolver = createBundleResolver(options);
  resolver.onChange(() => {
    changes += 1;
  });
  const resolve = (...names: readonly string[]): ResolvedSource => resolver.resolve(names);
  return {
    ...{ folder, api, log, resolver, resolve, views },
    changes: () => changes,
    whenItIs: async (kind, ...names) => {
      const found = await waitFor(`${names.join()} to be ${kind}`, () => {
        const resolved = resolve(...names);
        return resolved.kind === kind ? resolved : undefined;
      });
      return found as Extract<ResolvedSource, { readonly kind: typeof kind }>;
    },
    sample: async (name) => {
      const lines = (await metrics.render()).split('\n');
      return lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1);
    },
    serve: (...versions) => {
      served = versions;
    },
  };
}

export type BundleObject = {
  readonly name: string;
  readonly trustBundle: string;
  readonly signerName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly resourceVersion?: string;
};

export function bundleObject({ name, trustBundle, signerName, labels, resourceVersion }: BundleObject): KubeObject {
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'ClusterTrustBundle',
    metadata: { name, resourceVersion: resourceVersion ?? '1', ...(labels === undefined ? {} : { labels }) },
    spec: { trustBundle, ...(signerName === undefined ? {} : { signerName }) },
  };
}
