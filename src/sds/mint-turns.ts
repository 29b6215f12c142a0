// Mints that do not fit into the turn in which they were asked: a replay of thousands of names must not hold the event
// loop. First come, first served, a few a turn, a pause between turns. Must not know what a mint is.
import type { Clock, DurationMs, Timer } from '../clock.ts';

type Pace = { readonly perTurn: number; readonly pauseMs: DurationMs };

export class MintTurns<Job> {
  readonly #clock: Clock;
  readonly #pace: Pace;
  readonly #run: (job: Job) => boolean;
  #jobs: Job[] = [];
  #timer: Timer | undefined;

  /** `run` returns false when there was nothing to do any more, which takes no place in the turn. */
  constructor(clock: Clock, pace: Pace, run: (job: Job) => boolean) {
    this.#clock = clock;
    this.#pace = pace;
    this.#run = run;
  }

  get length(): number {
    return this.#jobs.length;
  }

  add(job: Job): void {
    this.#jobs.push(job);
    this.#schedule();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#jobs = [];
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#jobs.length === 0) return;
    this.#timer = this.#clock.after(this.#pace.pauseMs, () => {
      this.#timer = undefined;
      this.#turn();
      this.#schedule();
    });
  }

  #turn(): void {
    const jobs = this.#jobs;
    this.#jobs = [];
    let places = this.#pace.perTurn;
    let taken = 0;
    for (const job of jobs) {
      if (places === 0) break;
      taken += 1;
      if (this.#run(job)) places -= 1;
    }
    // what was added meanwhile stands behind what waited before
    this.#jobs = [...jobs.slice(taken), ...this.#jobs];
  }
}
