// Deadlines of what is under way, one timer for all: it waits for the first of them. Must not know what falls due.
import { millis, type Clock, type DurationMs, type Timer } from '../clock.ts';

export type Watched<Job> = { readonly job: Job; readonly dueAt: DurationMs };

/** what falls due together is done a few a turn of the event loop: each is a removal to be sent */
const perTurn = 64;

export class DeadlineWatch<Job> {
  readonly #clock: Clock;
  readonly #expired: (job: Job) => void;
  /** in the order in which they fall due, which is the order in which they came */
  readonly #watched = new Set<Watched<Job>>();
  #timer: Timer | undefined;

  constructor(clock: Clock, expired: (job: Job) => void) {
    this.#clock = clock;
    this.#expired = expired;
  }

  /** `dueAt`: by the monotonic clock, never before that of a job that came earlier. */
  add(job: Job, dueAt: DurationMs): Watched<Job> {
    const watched = { job, dueAt };
    this.#watched.add(watched);
    this.#schedule();
    return watched;
  }

  /** The job is done in time. */
  delete(watched: Watched<Job>): void {
    this.#watched.delete(watched);
    if (this.#watched.size === 0) this.stop();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#watched.clear();
  }

  #schedule(): void {
    if (this.#timer !== undefined) return;
    for (const { dueAt } of this.#watched) {
      const delay = millis(Math.max(0, dueAt - this.#clock.monotonic()));
      this.#timer = this.#clock.after(delay, () => {
        this.#timer = undefined;
        this.#turn();
        this.#schedule();
      });
      return;
    }
  }

  #turn(): void {
    const now = this.#clock.monotonic();
    let places = perTurn;
    for (const watched of this.#watched) {
      if (places === 0 || watched.dueAt > now) return;
      places -= 1;
      this.#watched.delete(watched);
      this.#expired(watched.job);
    }
  }
}
