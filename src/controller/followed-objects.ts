// What gateways depend on, followed by name: one follower for each object however many gateways use it, opened with the
// first and closed with the last. Says who must be looked at again when an object, or the view of it, changes. Must not
// know what a gateway is.
import { repeat, seconds, type Clock, type Timer } from '../clock.ts';
import type { KubeFailure } from '../kube/kube-failure.ts';
import type { KubeObject, ObjectPlace, ObjectQuery } from '../kube/kube-types.ts';
import { placeKey } from './watched-kinds.ts';

/** what is known of an object just now */
export type Look =
  | { readonly kind: 'found'; readonly object: KubeObject }
  | { readonly kind: 'absent' }
  /** the first answer is still awaited */
  | { readonly kind: 'pending' }
  | { readonly kind: 'unavailable'; readonly failure: KubeFailure };

/** the part of a follower of objects that is used here (kube/follow-objects.ts) */
export interface Follower {
  get(name: string, namespace?: string): KubeObject | undefined;
  isSynced(): boolean;
  trouble(): KubeFailure | undefined;
  close(): Promise<void>;
}

export type Follow = (query: ObjectQuery, changed: () => void) => Follower;

export type FollowedObjectsOptions = {
  readonly follow: Follow;
  readonly clock: Clock;
  /** an object that `owner` holds has changed, or what is known of it */
  readonly changed: (owner: string) => void;
};

export interface FollowedObjects {
  /** from now on exactly these objects are followed on behalf of `owner` */
  hold(owner: string, places: readonly ObjectPlace[]): void;
  release(owner: string): void;
  /** `pending` also for what nobody holds */
  look(place: ObjectPlace): Look;
  /** how many objects are followed, by what is known of them */
  counts(): { readonly [kind in Look['kind']]: number };
  close(): Promise<void>;
}

/** a follower tells of changes, but not of trouble: that is looked at this often, in memory only */
const lookEveryMs = seconds(1);
/** a view that was good stays for this long while the API has trouble of a passing kind: conditions must not flap */
const graceMs = seconds(60);

/** another attempt may well succeed: nothing that a person must mend is known */
const passingKinds: ReadonlySet<KubeFailure['kind']> = new Set([
  'unavailable',
  'too-many-requests',
  'gone',
  'conflict',
]);

type Entry = {
  readonly place: ObjectPlace;
  readonly follower: Follower;
  readonly owners: Set<string>;
  hasBeenSeen: boolean;
  troubleSince: number | undefined;
  /** what owners were told last */
  told: string;
};

export function followByName(options: FollowedObjectsOptions): FollowedObjects {
  return new ObjectsByName(options);
}

class ObjectsByName implements FollowedObjects {
  readonly #options: FollowedObjectsOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #timer: Timer;

  constructor(options: FollowedObjectsOptions) {
    this.#options = options;
    this.#timer = repeat(options.clock, lookEveryMs, () => this.#look());
  }

  hold(owner: string, places: readonly ObjectPlace[]): void {
    const wanted = new Map(places.map((place) => [placeKey(place), place]));
    for (const [key, entry] of this.#entries) {
      if (!wanted.has(key)) this.#drop(key, entry, owner);
    }
    for (const [key, place] of wanted) {
      const entry = this.#entries.get(key) ?? this.#open(key, place);
      entry.owners.add(owner);
    }
  }

  release(owner: string): void {
    for (const [key, entry] of this.#entries) this.#drop(key, entry, owner);
  }

  look(place: ObjectPlace): Look {
    const entry = this.#entries.get(placeKey(place));
    return entry === undefined ? { kind: 'pending' } : this.#lookAt(entry);
  }

  counts(): { readonly [kind in Look['kind']]: number } {
    const counts = { found: 0, absent: 0, pending: 0, unavailable: 0 };
    for (const entry of this.#entries.values()) counts[this.#lookAt(entry).kind] += 1;
    return counts;
  }

  async close(): Promise<void> {
    this.#timer.cancel();
    const followers = [...this.#entries.values()].map(({ follower }) => follower);
    this.#entries.clear();
    await Promise.allSettled(followers.map((follower) => follower.close()));
  }

  #open(key: string, place: ObjectPlace): Entry {
    const { resource, namespace, name } = place;
    const query = { resource, name, ...(namespace === undefined ? {} : { namespace }) };
    const follower = this.#options.follow(query, () => {
      const entry = this.#entries.get(key);
      if (entry !== undefined) this.#tell(entry);
    });
    const entry: Entry = {
      ...{ place, follower },
      owners: new Set(),
      hasBeenSeen: false,
      troubleSince: undefined,
      told: 'pending',
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #drop(key: string, entry: Entry, owner: string): void {
    if (!entry.owners.delete(owner) || entry.owners.size > 0) return;
    this.#entries.delete(key);
    // what fails while it closes has nobody left who would want to know
    void entry.follower.close().catch(() => undefined);
  }

  #lookAt(entry: Entry): Look {
    const { follower, place } = entry;
    const trouble = follower.trouble();
    if (trouble === undefined) {
      entry.troubleSince = undefined;
      if (!follower.isSynced()) return { kind: 'pending' };
      entry.hasBeenSeen = true;
    } else {
      const now = this.#options.clock.monotonic();
      entry.troubleSince ??= now;
      const isPassing = passingKinds.has(trouble.kind) && entry.hasBeenSeen && now - entry.troubleSince < graceMs;
      if (!isPassing) return { kind: 'unavailable', failure: trouble };
    }
    const object = follower.get(place.name, place.namespace);
    return object === undefined ? { kind: 'absent' } : { kind: 'found', object };
  }

  #look(): void {
    for (const entry of [...this.#entries.values()]) {
      if (viewOf(this.#lookAt(entry)) !== entry.told) this.#tell(entry);
    }
  }

  #tell(entry: Entry): void {
    entry.told = viewOf(this.#lookAt(entry));
    for (const owner of [...entry.owners]) this.#options.changed(owner);
  }
}

/** what a follower does not tell of by itself */
function viewOf(look: Look): string {
  if (look.kind === 'unavailable') return `${look.failure.kind} ${look.failure.message}`;
  return look.kind === 'pending' ? 'pending' : 'seen';
}
