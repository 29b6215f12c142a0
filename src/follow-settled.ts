// Looks at something again and again, and tells another sight once two looks have had the same: half of what is being
// written is never taken for the whole. Looking is what works for symlink swaps (Kubernetes' ..data), for replaced files,
// for folders that appear later and on every file system. Must not know what is looked at.
import { millis, type Clock, type DurationMs, type Timer } from './clock.ts';

export type SettledLooks<Sight> = {
  /** never rejects */
  readonly look: () => Promise<Sight>;
  readonly isSame: (one: Sight, other: Sight) => boolean;
  /** whether a sight cannot be half of another, and needs no second look; by default each needs one */
  readonly isWhole?: (sight: Sight) => boolean;
  /** how long to wait after a sight that is settled */
  readonly lookAgainAfter: (sight: Sight) => DurationMs;
  /** between a new sight and the look that confirms it; default 100 ms */
  readonly confirmAfter?: DurationMs;
  readonly clock: Clock;
  /** a sight of before, which is no news; without it the first look is at once */
  readonly known?: Sight;
  /** the first sight, and each other one after it; the next look waits for it */
  readonly settled: (sight: Sight) => void | Promise<void>;
  readonly restless?: {
    /** looks in a row that each found something else */
    readonly looks: number;
    /** what settles after it is news, whatever was told before */
    readonly tell: () => void;
  };
};

export interface SettledFollower {
  /** nothing is told from now on; settles when a look that is under way has ended */
  close(): Promise<void>;
}

export function followSettled<Sight>(request: SettledLooks<Sight>): SettledFollower {
  return new Follower(request);
}

type Seen<Sight> = { readonly sight: Sight };

class Follower<Sight> implements SettledFollower {
  readonly #request: SettledLooks<Sight>;
  /** what was told last */
  #told: Seen<Sight> | undefined;
  #unsettled: Seen<Sight> | undefined;
  #unsettledLooks = 0;
  #looking = Promise.resolve();
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(request: SettledLooks<Sight>) {
    this.#request = request;
    const { known, lookAgainAfter } = request;
    if (known === undefined) this.#begin();
    else {
      this.#told = { sight: known };
      this.#lookAfter(lookAgainAfter(known));
    }
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    return this.#looking;
  }

  #lookAfter(delay: DurationMs): void {
    if (this.#isClosed) return;
    this.#timer = this.#request.clock.after(delay, () => this.#begin());
  }

  #begin(): void {
    this.#looking = this.#look();
  }

  async #look(): Promise<void> {
    const { look, settled, lookAgainAfter, confirmAfter = millis(100) } = this.#request;
    const sight = await look();
    if (this.#isClosed) return;
    if (this.#isNews(sight)) {
      this.#told = { sight };
      await settled(sight);
    }
    this.#lookAfter(this.#unsettled === undefined ? lookAgainAfter(sight) : confirmAfter);
  }

  /** Whether a sight is to be told now; one that needs another look is remembered for that. */
  #isNews(sight: Sight): boolean {
    const { isSame, isWhole, restless } = this.#request;
    const before = this.#unsettled;
    const isKnown = this.#told !== undefined && isSame(this.#told.sight, sight);
    const isSettled = isWhole?.(sight) === true || (before !== undefined && isSame(before.sight, sight));
    this.#unsettled = isKnown || isSettled ? undefined : { sight };
    this.#unsettledLooks = this.#unsettled === undefined ? 0 : this.#unsettledLooks + 1;
    if (restless !== undefined && this.#unsettledLooks === restless.looks) {
      this.#told = undefined;
      restless.tell();
    }
    return !isKnown && isSettled;
  }
}
