// Lists objects and watches them from there, for ever: every end of a watch leads to the next one, every failure to a
// longer pause, and what happened in between is found by listing again. It never ends by itself and never spins. Must
// not know what the objects are for.
import { millis, seconds } from '../clock.ts';
import type { Clock, DurationMs } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { pause } from '../pause.ts';
import type { Log } from '../observe/log.ts';
import { backoffMs, healthyAfterMs } from './backoff.ts';
import { kubeFailureOf } from './kube-failure.ts';
import type { KubeFailure } from './kube-failure.ts';
import type { KubeClient, KubeObject, ObjectQuery, WatchEvent } from './kube-types.ts';
import { ObjectCache } from './object-cache.ts';
import type { ObjectChange } from './object-cache.ts';
import { callText } from './object-path.ts';

export type FollowRequest = {
  readonly client: Pick<KubeClient, 'list' | 'watch'>;
  readonly query: ObjectQuery;
  readonly clock: Clock;
  /** in [0, 1) */
  readonly random: () => number;
  readonly log: Log;
  /** what it throws is logged and changes nothing */
  readonly onChange: (change: ObjectChange) => void;
  /** the server has said what there is, or by a bookmark that nothing else has changed; an idle watch has one in two minutes */
  readonly onConfirmed?: () => void;
  /** the first whole list has been taken over, its changes told */
  readonly onSynced?: () => void;
  /** there is no current view for now, for this reason; again only for another reason, or after a time that was well */
  readonly onTrouble?: (failure: KubeFailure) => void;
};

export interface ObjectFollower {
  get(name: string, namespace?: string): KubeObject | undefined;
  items(): readonly KubeObject[];
  isSynced(): boolean;
  /** why there is no current view now; one failure that the next attempt mends is none */
  trouble(): KubeFailure | undefined;
  close(): Promise<void>;
}

/** client-go asks for 5 to 10 minutes, so that watches do not all end together */
const shortestWatchSeconds = 300;
/** bookmarks were seen two minutes apart on an idle watch (1.37) */
const silenceMs = seconds(180);
const longestRetryAfterMs = seconds(300);

export function followObjects(request: FollowRequest): ObjectFollower {
  return new Follower(request);
}

class Follower implements ObjectFollower {
  readonly #request: FollowRequest;
  readonly #cache = new ObjectCache();
  readonly #ended = new AbortController();
  readonly #run: Promise<void>;
  #resourceVersion: string | undefined;
  #isSynced = false;
  /** failures in a row, early ends of a watch included */
  #failures = 0;
  #failuresSinceWell = 0;
  /** the version from which a watch has failed */
  #failedFrom: string | undefined;
  #trouble: KubeFailure | undefined;

  constructor(request: FollowRequest) {
    this.#request = request;
    this.#run = this.#goOn();
  }

  get(name: string, namespace?: string): KubeObject | undefined {
    return this.#cache.get(name, namespace);
  }

  items(): readonly KubeObject[] {
    return this.#cache.items();
  }

  isSynced(): boolean {
    return this.#isSynced;
  }

  trouble(): KubeFailure | undefined {
    return this.#trouble;
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#run;
  }

  async #goOn(): Promise<void> {
    const { clock } = this.#request;
    while (!this.#ended.signal.aborted) {
      const delay = await this.#round();
      if (delay > 0) await pause(clock, delay, this.#ended.signal);
    }
  }

  /** one list, when there is none to go on from, and one watch; gives the pause before the next */
  async #round(): Promise<DurationMs> {
    const { clock, random } = this.#request;
    let startedAt = clock.monotonic();
    try {
      const from = this.#resourceVersion ?? (await this.#list());
      if (from === undefined) return millis(0);
      startedAt = clock.monotonic();
      await this.#watch(from);
      if (clock.monotonic() - startedAt >= healthyAfterMs) {
        this.#failures = 0;
        return millis(0);
      }
      // a server that ends each watch at once is not asked for the next one at once
      this.#failures += 1;
      return backoffMs(this.#failures, random);
    } catch (thrown) {
      if (this.#ended.signal.aborted) return millis(0);
      if (clock.monotonic() - startedAt >= healthyAfterMs) this.#failures = 0;
      return this.#failed(kubeFailureOf(thrown), thrown);
    }
  }

  #failed(failure: KubeFailure, thrown: unknown): DurationMs {
    this.#failures += 1;
    this.#failuresSinceWell += 1;
    // a watch from one version may fail for ever, such as with 500 where etcd has compacted only what was before a
    // deletion (measured on 1.37): the second time a new list leads on
    const isStuck = this.#resourceVersion !== undefined && this.#resourceVersion === this.#failedFrom;
    this.#failedFrom = this.#resourceVersion;
    if (isStuck) this.#resourceVersion = undefined;
    if (failure.kind === 'gone') {
      this.#resourceVersion = undefined;
      // that a history ends is no fault of the server: the first time there is nothing to wait for
      if (this.#failures === 1) return millis(0);
    }
    if (!this.#isSynced || this.#failuresSinceWell > 1) this.#tell(failure, thrown);
    const asked = Math.min(failure.retryAfterMs ?? 0, longestRetryAfterMs);
    return millis(Math.max(asked, backoffMs(this.#failures, this.#request.random)));
  }

  /** undefined: closed meanwhile */
  async #list(): Promise<string | undefined> {
    const { client, query, onSynced } = this.#request;
    const list = await unlessAborted(client.list(query), this.#ended.signal);
    if (list === undefined) return undefined;
    for (const change of this.#cache.replaceAll(list.items)) this.#change(change);
    this.#request.onConfirmed?.();
    this.#resourceVersion = list.resourceVersion;
    const isFirst = !this.#isSynced;
    this.#isSynced = true;
    if (!isFirst) return list.resourceVersion;
    // later lists prove no watch, so they end no trouble
    this.#well();
    if (onSynced !== undefined) this.#guard(onSynced);
    return list.resourceVersion;
  }

  async #watch(resourceVersion: string): Promise<void> {
    const { client, query, random } = this.#request;
    await client.watch(query, {
      resourceVersion,
      timeoutSeconds: shortestWatchSeconds + Math.floor(random() * (shortestWatchSeconds + 1)),
      silenceMs,
      signal: this.#ended.signal,
      onOpen: () => this.#well(),
      onEvent: (event) => this.#take(event),
    });
  }

  #take(event: WatchEvent): void {
    if (this.#ended.signal.aborted) return;
    this.#well();
    this.#request.onConfirmed?.();
    switch (event.kind) {
      case 'bookmark':
        this.#resourceVersion = event.resourceVersion;
        return;
      case 'put':
        this.#resourceVersion = event.object.metadata.resourceVersion ?? this.#resourceVersion;
        this.#change(this.#cache.put(event.object));
        return;
      case 'gone':
        this.#resourceVersion = event.object.metadata.resourceVersion ?? this.#resourceVersion;
        this.#change(this.#cache.remove(event.object));
        return;
      default:
        event satisfies never;
    }
  }

  #change(change: ObjectChange | undefined): void {
    if (change !== undefined) this.#guard(() => this.#request.onChange(change));
  }

  #guard(run: () => void): void {
    try {
      run();
    } catch (thrown) {
      const { code, message } = LeafgateError.from(thrown);
      this.#request.log.error('what follows a Kubernetes resource failed to take a change', {
        resource: this.#name(),
        code,
        detail: message,
      });
    }
  }

  #tell(failure: KubeFailure, thrown: unknown): void {
    const isNews = this.#trouble?.message !== failure.message;
    this.#trouble = failure;
    if (!isNews) return;
    const { onTrouble } = this.#request;
    if (onTrouble !== undefined) this.#guard(() => onTrouble(failure));
    const { code, message, remedy } = LeafgateError.from(thrown);
    const fields = { resource: this.#name(), code, detail: message, remedy };
    this.#request.log.warn('a Kubernetes resource cannot be followed for now', fields);
  }

  #well(): void {
    this.#failuresSinceWell = 0;
    if (this.#trouble === undefined) return;
    this.#trouble = undefined;
    this.#request.log.info('a Kubernetes resource is followed again', { resource: this.#name() });
  }

  #name(): string {
    return callText('', this.#request.query).trimStart();
  }
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const end = (): void => resolve(undefined);
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', end);
    work.catch(() => undefined);
  }
}
