// Which names the peers hold, the longest-held first, over all streams. Envoy never evicts by itself, so this count is
// what bounds its memory and ours. Must not know what a stream is, beyond its number.
import type { EpochMs } from '../clock.ts';
import type { AskedName } from '../names/name-types.ts';

export type LiveName<Stream> = { readonly stream: Stream; readonly name: AskedName; readonly notAfter: EpochMs };

type Numbered = { readonly id: number };

export class LiveNames<Stream extends Numbered> {
  readonly #held = new Map<string, LiveName<Stream>>();
  /** told to go, but the peer has not answered what it was sent last */
  readonly #leaving = new Set<string>();
  readonly #max: number;
  readonly #evict: (oldest: LiveName<Stream>) => void;

  /** `evict` tells the longest-held name to go, whenever there are more than `max`. */
  constructor(max: number, evict: (oldest: LiveName<Stream>) => void) {
    this.#max = max;
    this.#evict = evict;
  }

  /** names held, those that are leaving included */
  get size(): number {
    return this.#held.size + this.#leaving.size;
  }

  get leaving(): number {
    return this.#leaving.size;
  }

  /** The peer was given, or still has, a leaf: the name is the youngest from now on. */
  hold(live: LiveName<Stream>): void {
    const key = keyOf(live.stream, live.name);
    this.#held.delete(key);
    this.#leaving.delete(key);
    this.#held.set(key, live);
    if (this.#held.size > this.#max) this.#evictOldest();
  }

  release(stream: Stream, name: AskedName): void {
    const key = keyOf(stream, name);
    if (!this.#held.delete(key)) this.#leaving.delete(key);
  }

  all(): readonly LiveName<Stream>[] {
    return [...this.#held.values()];
  }

  /** Names whose leaf ends before `instant`. */
  endingBefore(instant: EpochMs): readonly LiveName<Stream>[] {
    const ending: LiveName<Stream>[] = [];
    for (const live of this.#held.values()) if (live.notAfter < instant) ending.push(live);
    return ending;
  }

  #evictOldest(): void {
    const oldest = this.#held.entries().next();
    if (oldest.done === true) return;
    const [key, live] = oldest.value;
    this.#held.delete(key);
    this.#leaving.add(key);
    this.#evict(live);
  }
}

function keyOf(stream: Numbered, name: AskedName): string {
  return `${stream.id}/${name}`;
}
