// Judges held names anew after a change of pool or policy, a few a turn, and tries again later what could not be
// re-minted. Also looks for names that a peer still holds although their TTL has passed. Must not know how a name is
// judged.
import { millis, plus, repeat, type Clock, type Timer } from '../clock.ts';
import type { AskedName } from '../names/name-types.ts';
import type { LiveNames } from './live-names.ts';
import { overdueSweepMs, reviewPauseMs, reviewRetryMs, reviewsPerTurn } from './sds-settings.ts';

type Reviewed = { review(name: AskedName): void };
type Held<Stream> = { readonly stream: Stream; readonly name: AskedName };

/** a leaf that ends within this has outlived its TTL by half a minute: the TTL ends 60 s before the leaf does */
const outlivedMs = millis(30_000);

export class ReviewTurns<Stream extends Reviewed> {
  readonly #clock: Clock;
  readonly #live: LiveNames<Stream>;
  #waiting: Held<Stream>[] = [];
  #retries: Held<Stream>[] = [];
  #turnTimer: Timer | undefined;
  #retryTimer: Timer | undefined;
  readonly #sweepTimer: Timer;

  constructor(clock: Clock, live: LiveNames<Stream>) {
    this.#clock = clock;
    this.#live = live;
    this.#sweepTimer = repeat(clock, overdueSweepMs, () => this.#sweep());
  }

  /** Everything that is held, from the longest-held on; a review under way starts again. */
  reviewAll(): void {
    this.#waiting = [...this.#live.all()];
    this.#turn();
  }

  later(stream: Stream, name: AskedName): void {
    this.#retries.push({ stream, name });
    this.#retryTimer ??= this.#clock.after(reviewRetryMs, () => {
      this.#retryTimer = undefined;
      this.#add(this.#retries);
      this.#retries = [];
    });
  }

  stop(): void {
    for (const timer of [this.#turnTimer, this.#retryTimer, this.#sweepTimer]) timer?.cancel();
    this.#waiting = [];
    this.#retries = [];
  }

  #add(names: readonly Held<Stream>[]): void {
    for (const { stream, name } of names) this.#waiting.push({ stream, name });
    this.#turn();
  }

  #turn(): void {
    if (this.#turnTimer !== undefined) return;
    for (const { stream, name } of this.#waiting.splice(0, reviewsPerTurn)) stream.review(name);
    if (this.#waiting.length === 0) return;
    this.#turnTimer = this.#clock.after(reviewPauseMs, () => {
      this.#turnTimer = undefined;
      this.#turn();
    });
  }

  #sweep(): void {
    this.#add(this.#live.endingBefore(plus(this.#clock.now(), outlivedMs)));
  }
}
