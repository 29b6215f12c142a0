// The ClusterTrustBundles that one query selects: finds the version that the API server serves, follows the objects, and
// goes on looking while there is nothing to follow. Many bundles of a list share one of these. An edge; it must not know
// what the objects are chosen for.
import type { Clock } from '../clock.ts';
import type { LeafgateError } from '../errors.ts';
import { sayRule } from '../kube/access-rule.ts';
import { backoffMs } from '../kube/backoff.ts';
import { bundleResource, findBundleVersion } from '../kube/find-bundle-version.ts';
import { followObjects, type ObjectFollower } from '../kube/follow-objects.ts';
import { kubeFailureOf, type KubeFailure } from '../kube/kube-failure.ts';
import type { KubeClient, KubeObject, ObjectQuery } from '../kube/kube-types.ts';
import type { Log } from '../observe/log.ts';
import { pause } from '../pause.ts';
import { bundleErrors } from './bundle-errors.ts';
import type { BundleView, BundleViews } from './bundle-views.ts';

export type BundleQuery = Pick<ObjectQuery, 'name' | 'labelSelector'>;

export type ObjectsState =
  | { readonly kind: 'pending' }
  /** as they were when they were last seen: what the API server says no more is still the last good view */
  | { readonly kind: 'seen'; readonly items: readonly KubeObject[] }
  | { readonly kind: 'failed'; readonly error: LeafgateError };

export type BundleObjectsRequest = {
  readonly client: Pick<KubeClient, 'list' | 'watch' | 'resourcesOf'>;
  readonly query: BundleQuery;
  readonly clock: Clock;
  /** in [0, 1) */
  readonly random: () => number;
  readonly log: Log;
  readonly views: Pick<BundleViews, 'open'>;
  readonly changed: () => void;
};

export interface BundleObjects {
  state(): ObjectsState;
  close(): Promise<void>;
}

export function followBundleObjects(request: BundleObjectsRequest): BundleObjects {
  return new FollowedBundles(request);
}

class FollowedBundles implements BundleObjects {
  readonly #request: BundleObjectsRequest;
  readonly #ended = new AbortController();
  readonly #run: Promise<void>;
  readonly #view: BundleView;
  #state: ObjectsState = { kind: 'pending' };

  constructor(request: BundleObjectsRequest) {
    this.#request = request;
    this.#view = request.views.open();
    this.#run = this.#goOn();
  }

  state(): ObjectsState {
    return this.#state;
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#run;
    this.#view.close();
  }

  async #goOn(): Promise<void> {
    const { clock, random } = this.#request;
    let failures = 0;
    while (!this.#ended.signal.aborted) {
      const wasSeen = await this.#followWhileServed();
      failures = wasSeen ? 1 : failures + 1;
      await pause(clock, backoffMs(failures, random), this.#ended.signal);
    }
  }

  /** Ends when the version is served no more; whether it ever was. */
  async #followWhileServed(): Promise<boolean> {
    try {
      const version = await findBundleVersion(this.#request.client);
      if (this.#ended.signal.aborted) return false;
      if (version !== undefined)
        return await this.#follow({ ...this.#request.query, resource: bundleResource(version) });
      this.#fail(bundleErrors.error('bundle-api-not-served'));
    } catch (thrown) {
      this.#fail(unreachable(kubeFailureOf(thrown), thrown));
    }
    return false;
  }

  async #follow(query: ObjectQuery): Promise<boolean> {
    const { client, clock, random, log } = this.#request;
    const over = Promise.withResolvers<void>();
    const end = (): void => over.resolve();
    this.#ended.signal.addEventListener('abort', end, { once: true });
    const follower: ObjectFollower = followObjects({
      ...{ client, query, clock, random, log },
      onConfirmed: this.#view.confirmed,
      onChange: () => this.#see(follower.items()),
      onSynced: () => this.#see(follower.items()),
      onTrouble: (failure) => {
        if (failure.kind === 'not-found') end();
        this.#fail(troubleOf(failure, query));
      },
    });
    await over.promise;
    this.#ended.signal.removeEventListener('abort', end);
    await follower.close();
    return follower.isSynced();
  }

  #see(items: readonly KubeObject[]): void {
    if (this.#ended.signal.aborted) return;
    this.#state = { kind: 'seen', items };
    this.#request.changed();
  }

  #fail(error: LeafgateError): void {
    const isSame = this.#state.kind === 'failed' && this.#state.error.message === error.message;
    if (this.#state.kind === 'seen' || isSame || this.#ended.signal.aborted) return;
    this.#state = { kind: 'failed', error };
    this.#request.changed();
  }
}

function troubleOf(failure: KubeFailure, { resource, name }: ObjectQuery): LeafgateError {
  if (failure.kind === 'not-found') return bundleErrors.error('bundle-api-not-served');
  if (failure.kind !== 'forbidden') return unreachable(failure);
  const { group, plural } = resource;
  const rule = { verbs: ['list', 'watch'], group, resource: plural, ...(name === undefined ? {} : { name }) };
  return bundleErrors.error('bundle-access-missing', { rule: sayRule(rule), detail: failure.message });
}

function unreachable(failure: KubeFailure, cause?: unknown): LeafgateError {
  return bundleErrors.error('bundle-api-unreachable', { detail: failure.message }, cause);
}
