// Which names the peers hold, the longest-held first, over all streams. Envoy never evicts by itself, so this count is
// what bounds its memory and ours. Must not know what a stream is.
import type { EpochMs } from '../clock.ts';
import type { AskedName } from '../names/name-types.ts';

/** One name held on one stream: an identity of its own, kept by the stream until it releases it. */
export type LiveName<Stream> = { readonly stream: Stream; readonly name: AskedName; readonly notAfter: EpochMs };

export class LiveNames<Stream> {
  readonly #held = new Set<LiveName<Stream>>();
  /** told to go, but the peer has not answered what it was sent last */
  readonly #leaving = new Set<LiveName<Stream>>();
  /** how many of them are whose; a stream without any is not here */
  readonly #leavingOf = new Map<Stream, number>();
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

  leavingOf(stream: Stream): number {
    return this.#leavingOf.get(stream) ?? 0;
  }

  /** The peer was given, or still has, a leaf: the youngest from now on. */
  hold(live: LiveName<Stream>): void {
    this.#held.add(live);
    if (this.#held.size <= this.#max) return;
    const [oldest = live] = this.#held;
    this.#held.delete(oldest);
    this.#leaving.add(oldest);
    this.#leavingOf.set(oldest.stream, this.leavingOf(oldest.stream) + 1);
    this.#evict(oldest);
  }

  release(live: LiveName<Stream>): void {
    if (this.#held.delete(live) || !this.#leaving.delete(live)) return;
    const left = this.leavingOf(live.stream) - 1;
    if (left > 0) this.#leavingOf.set(live.stream, left);
    else this.#leavingOf.delete(live.stream);
  }

  all(): readonly LiveName<Stream>[] {
    return [...this.#held];
  }

  /** Names whose leaf ends before `instant`. */
  endingBefore(instant: EpochMs): readonly LiveName<Stream>[] {
    return this.all().filter((live) => live.notAfter < instant);
  }
}
