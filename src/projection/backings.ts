// The backends of a list of bundles: each is opened as its kind asks, and what several of them need from the API server is
// asked for once. An edge; it must not know who asks for bundles.
import type { Clock } from '../clock.ts';
import type { KubeClient } from '../kube/kube-types.ts';
import type { Log } from '../observe/log.ts';
import type { BundleBackend } from '../settings/bundle-allowlist.ts';
import type { Backing, BackingState } from './backing.ts';
import { bundleErrors } from './bundle-errors.ts';
import type { BundleViews } from './bundle-views.ts';
import { followBundleFile } from './follow-bundle-file.ts';
import { followBundleObjects, type BundleObjects } from './follow-bundle-objects.ts';
import { followSystemRoots } from './follow-system-roots.ts';
import { backingStateOf, queryFor, type ClusterBackend } from './select-bundles.ts';

export interface Backings {
  /** gives what says how the backend of a bundle stands: the same object until that changes */
  open(name: string, backend: BundleBackend, changed: () => void): () => BackingState;
  close(): Promise<void>;
}

export type BackingOptions = {
  /** undefined: bundles of the cluster are unavailable */
  readonly kube: BundleClient | undefined;
  readonly clock: Clock;
  /** in [0, 1) */
  readonly random: () => number;
  readonly log: Log;
  readonly views: Pick<BundleViews, 'open'>;
  /** a root file system that system roots are read from; this machine's own by default */
  readonly rootsFrom?: string;
};

type BundleClient = Pick<KubeClient, 'list' | 'watch' | 'resourcesOf'>;

/** the objects of one query, and who is to be told */
type SharedObjects = { readonly objects: BundleObjects; readonly told: (() => void)[] };

export function createBackings(options: BackingOptions): Backings {
  return new OpenBackings(options);
}

class OpenBackings implements Backings {
  readonly #options: BackingOptions;
  readonly #byQuery = new Map<string, SharedObjects>();
  readonly #open: Backing[] = [];

  constructor(options: BackingOptions) {
    this.#options = options;
  }

  open(name: string, backend: BundleBackend, changed: () => void): () => BackingState {
    const { clock, log, rootsFrom } = this.#options;
    switch (backend.kind) {
      case 'file':
        return this.#keep(followBundleFile({ path: backend.path, clock, changed }));
      case 'system-roots':
        return this.#keep(followSystemRoots({ root: rootsFrom, clock, log, changed }));
      case 'cluster-trust-bundle':
      case 'cluster-trust-bundles':
        return this.#openObjects(name, backend, changed);
      default:
        return backend satisfies never;
    }
  }

  async close(): Promise<void> {
    const shared = [...this.#byQuery.values()].map(({ objects }) => objects);
    await Promise.all([...this.#open, ...shared].map((one) => one.close()));
  }

  #keep(backing: Backing): () => BackingState {
    this.#open.push(backing);
    return () => backing.state();
  }

  #openObjects(name: string, backend: ClusterBackend, changed: () => void): () => BackingState {
    const { kube } = this.#options;
    if (kube === undefined) {
      const error = bundleErrors.error('bundle-no-api', { bundle: name });
      const state: BackingState = { kind: 'failed', cause: 'unavailable', error };
      return () => state;
    }
    const { objects, told } = this.#objectsOf(backend, kube);
    told.push(changed);
    return () => backingStateOf(backend, objects.state());
  }

  #objectsOf(backend: ClusterBackend, client: BundleClient): SharedObjects {
    const query = queryFor(backend);
    const key = JSON.stringify(query);
    const known = this.#byQuery.get(key);
    if (known !== undefined) return known;
    const { clock, random, log, views } = this.#options;
    const told: (() => void)[] = [];
    const changed = (): void => {
      for (const tell of told) tell();
    };
    const shared = { objects: followBundleObjects({ client, query, clock, random, log, views, changed }), told };
    this.#byQuery.set(key, shared);
    return shared;
  }
}
