// What is to be done, by key: a key is worked on once at a time, changes that come meanwhile make one more round, and what
// failed is tried again for ever, ever more seldom. One key cannot take the turn of others, nor run hot when its object is
// changed without end. Must not know what the work is.
import { millis, minutes, seconds, type Clock, type DurationMs, type Timer } from '../clock.ts';
import { backoffMs } from '../kube/backoff.ts';

export type WorkOutcome =
  /** `againAfterMs`: look again by then, although nothing will have told of a change */
  | { readonly kind: 'done'; readonly againAfterMs?: DurationMs }
  | { readonly kind: 'retry' }
  /** there is nothing any more that the key could stand for: nothing of it is kept */
  | { readonly kind: 'gone' };

export type WorkQueueOptions = {
  readonly clock: Clock;
  readonly random: () => number;
  /** keys worked on at the same time */
  readonly parallel: number;
  readonly run: (key: string) => Promise<WorkOutcome>;
  /** told what `run` threw, which counts as `retry` */
  readonly failed: (key: string, thrown: unknown) => void;
};

export interface WorkQueue {
  /** something changed: work on it now, or once more when it is being worked on */
  add(key: string): void;
  /** keys that are due and wait for their turn */
  waiting(): number;
  /** how long the longest of them has waited */
  oldestWaitMs(): DurationMs;
  /** starts nothing more; settles when what runs has ended */
  close(): Promise<void>;
}

/** the first retry; each one after it is twice as late */
const retrySteps = { firstMs: 500, limitMs: seconds(30) };
/** changes that come in a burst become one round: a hundred of them in a second are six writes at most */
const spacingMs = 200;
/** rounds of one key without a pause, and how soon one more is allowed: somebody who undoes our writes is met once a second */
const burst = 20;
const refillMs = seconds(1);
/** nothing waits longer than the timers of Node can count */
const longestWaitMs = minutes(24 * 60);

type KeyState = {
  timer: { readonly timer: Timer; readonly dueAt: number } | undefined;
  /** since when it is due; undefined when it is not */
  dueSince: number | undefined;
  isRunning: boolean;
  failures: number;
  startedAt: number;
  credit: number;
};

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  return new KeyedWork(options);
}

class KeyedWork implements WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #keys = new Map<string, KeyState>();
  readonly #idle = Promise.withResolvers<void>();
  #running = 0;
  #isClosed = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  add(key: string): void {
    if (this.#isClosed) return;
    this.#markDue(key, this.#stateOf(key));
  }

  waiting(): number {
    return this.#dueSinces().length;
  }

  oldestWaitMs(): DurationMs {
    const now = this.#options.clock.monotonic();
    return millis(Math.max(0, ...this.#dueSinces().map((since) => now - since)));
  }

  close(): Promise<void> {
    this.#isClosed = true;
    for (const state of this.#keys.values()) state.timer?.timer.cancel();
    if (this.#running === 0) this.#idle.resolve();
    return this.#idle.promise;
  }

  #dueSinces(): readonly number[] {
    return [...this.#keys.values()].map((state) => state.dueSince).filter((since) => since !== undefined);
  }

  #stateOf(key: string): KeyState {
    const known = this.#keys.get(key);
    if (known !== undefined) return known;
    const state: KeyState = {
      timer: undefined,
      dueSince: undefined,
      isRunning: false,
      failures: 0,
      startedAt: -Infinity,
      credit: burst,
    };
    this.#keys.set(key, state);
    return state;
  }

  #setTimer(key: string, state: KeyState, delay: number): void {
    const { clock } = this.#options;
    if (state.dueSince !== undefined) return;
    const dueAt = clock.monotonic() + Math.min(Math.max(0, delay), longestWaitMs);
    if (state.timer !== undefined && state.timer.dueAt <= dueAt) return;
    state.timer?.timer.cancel();
    const timer = clock.after(millis(dueAt - clock.monotonic()), () => {
      state.timer = undefined;
      this.#markDue(key, state);
    });
    state.timer = { timer, dueAt };
  }

  #markDue(key: string, state: KeyState): void {
    state.timer?.timer.cancel();
    state.timer = undefined;
    const now = this.#options.clock.monotonic();
    const wait = waitBeforeStart(state, now);
    if (wait > 0 && !state.isRunning) {
      this.#setTimer(key, state, wait);
      return;
    }
    state.dueSince ??= now;
    this.#startWhatMay();
  }

  #startWhatMay(): void {
    const due = [...this.#keys].filter(([, state]) => state.dueSince !== undefined && !state.isRunning);
    due.sort(([, one], [, other]) => (one.dueSince ?? 0) - (other.dueSince ?? 0));
    for (const [key, state] of due) {
      if (this.#isClosed || this.#running >= this.#options.parallel) return;
      void this.#work(key, state);
    }
  }

  async #work(key: string, state: KeyState): Promise<void> {
    this.#running += 1;
    takeTurn(state, this.#options.clock.monotonic());
    const outcome = await runSafely(key, this.#options);
    this.#running -= 1;
    state.isRunning = false;
    if (this.#isClosed) {
      if (this.#running === 0) this.#idle.resolve();
      return;
    }
    this.#settle(key, state, outcome);
    this.#startWhatMay();
  }

  #settle(key: string, state: KeyState, outcome: WorkOutcome): void {
    state.failures = outcome.kind === 'retry' ? state.failures + 1 : 0;
    if (state.dueSince !== undefined) {
      // it changed meanwhile: what failed may succeed now
      state.dueSince = undefined;
      this.#markDue(key, state);
      return;
    }
    switch (outcome.kind) {
      case 'retry':
        this.#setTimer(key, state, backoffMs(state.failures, this.#options.random, retrySteps));
        return;
      case 'done':
        if (outcome.againAfterMs !== undefined) this.#setTimer(key, state, outcome.againAfterMs);
        return;
      case 'gone':
        this.#keys.delete(key);
        return;
      default:
        outcome satisfies never;
    }
  }
}

function waitBeforeStart(state: KeyState, now: number): number {
  const sinceStart = now - state.startedAt;
  const credit = Math.min(burst, state.credit + sinceStart / refillMs);
  // whole milliseconds: a rest below what the clock can tell would be waited for without end
  return Math.ceil(Math.max(spacingMs - sinceStart, credit >= 1 ? 0 : (1 - credit) * refillMs));
}

function takeTurn(state: KeyState, now: number): void {
  state.credit = Math.min(burst, state.credit + (now - state.startedAt) / refillMs) - 1;
  state.startedAt = now;
  state.dueSince = undefined;
  state.isRunning = true;
}

async function runSafely(key: string, { run, failed }: WorkQueueOptions): Promise<WorkOutcome> {
  try {
    return await run(key);
  } catch (thrown) {
    failed(key, thrown);
    return { kind: 'retry' };
  }
}
