// Work that does not fit into the turn of the event loop in which it came: a few jobs a turn, a pause between turns. Each
// owner has a line of its own and the lines are served one job at a time in rotation, so that whoever asks for thousands
// waits for them and nobody else does. A job whose time is over takes no place of those that can still be served: it is
// let go in rotation too, beside them. Must not know what an owner or a job is.
import type { Clock, DurationMs, Timer } from '../clock.ts';
import { JobQueue } from './job-queue.ts';

export type Pace = {
  /** places in one turn; a job costs as many as `run` says */
  readonly perTurn: number;
  readonly pauseMs: DurationMs;
};

export type Work<Owner, Job> = {
  /** does the job; returns the places it cost, 0 when there was nothing to do any more */
  readonly run: (owner: Owner, job: Job) => number;
  /** for jobs that somebody waits for; within a line they must fall due in the order in which they came */
  readonly deadline?: Deadline<Owner, Job>;
};

export type Deadline<Owner, Job> = {
  /** by the monotonic clock */
  readonly dueAt: (job: Job) => DurationMs;
  /** says that the job will not be done; false when nobody waited for it any more */
  readonly letGo: (owner: Owner, job: Job) => boolean;
  /** let go in one turn */
  readonly perTurn: number;
};

type Line<Job> = {
  readonly waiting: JobQueue<Job>;
  /** their time is over */
  readonly late: JobQueue<Job>;
};

/** jobs that cost nothing, or are only moved to the late ones, in one turn: a tenth of a microsecond each */
const maxIdleSteps = 4096;

export class FairTurns<Owner extends object, Job> {
  readonly #clock: Clock;
  readonly #pace: Pace;
  readonly #work: Work<Owner, Job>;
  /** lines with jobs that wait, the next to be served first */
  readonly #waiting = new Map<Owner, Line<Job>>();
  /** lines with late jobs, the next to be served first; a line may be in both */
  readonly #late = new Map<Owner, Line<Job>>();
  /** lines whose owner can take nothing for now; a line here is in neither of the others */
  readonly #parked = new Map<Owner, Line<Job>>();
  #places: number;
  #timer: Timer | undefined;

  constructor(clock: Clock, pace: Pace, work: Work<Owner, Job>) {
    this.#clock = clock;
    this.#pace = pace;
    this.#work = work;
    this.#places = pace.perTurn;
  }

  /** Puts the job at the end of its owner's line. */
  add(owner: Owner, job: Job): void {
    const line = this.#lineOf(owner);
    line.waiting.push(job);
    if (this.#parked.has(owner)) return;
    this.#waiting.set(owner, line);
    this.#schedule();
  }

  /** Does the job at once while nobody waits and this turn of the event loop has places left; else adds it. */
  addOrRun(owner: Owner, job: Job): void {
    const isFree = this.#places > 0 && this.#waiting.size === 0 && !this.#parked.has(owner);
    if (!isFree || this.#isLate(job, this.#clock.monotonic())) {
      this.add(owner, job);
      return;
    }
    // the places come back in the next turn of the event loop, not with time: one turn of it must not go on for long
    this.#schedule();
    this.#places -= this.#work.run(owner, job);
  }

  /** The owner can take nothing for now: its line stands still. */
  park(owner: Owner): void {
    const line = this.#lineOf(owner);
    this.#waiting.delete(owner);
    this.#late.delete(owner);
    this.#parked.set(owner, line);
  }

  unpark(owner: Owner): void {
    const line = this.#parked.get(owner);
    if (line === undefined) return;
    this.#parked.delete(owner);
    if (line.waiting.length > 0) this.#waiting.set(owner, line);
    if (line.late.length > 0) this.#late.set(owner, line);
    this.#schedule();
  }

  /** Forgets the owner and its line. */
  drop(owner: Owner): void {
    this.#waiting.delete(owner);
    this.#late.delete(owner);
    this.#parked.delete(owner);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const lines of [this.#waiting, this.#late, this.#parked]) lines.clear();
  }

  #lineOf(owner: Owner): Line<Job> {
    const line = this.#waiting.get(owner) ?? this.#parked.get(owner) ?? this.#late.get(owner);
    return line ?? { waiting: new JobQueue(), late: new JobQueue() };
  }

  #schedule(): void {
    this.#timer ??= this.#clock.after(this.#pace.pauseMs, () => {
      this.#timer = undefined;
      this.#turn();
      const isFull = this.#places === this.#pace.perTurn;
      if (!isFull || this.#waiting.size > 0 || this.#late.size > 0) this.#schedule();
    });
  }

  #turn(): void {
    this.#places = this.#pace.perTurn;
    const { deadline } = this.#work;
    const now = this.#clock.monotonic();
    let idleSteps = maxIdleSteps;
    // a line that is put back at the end is met again
    for (const [owner, line] of this.#waiting) {
      if (this.#places <= 0 || idleSteps <= 0) break;
      if (deadline !== undefined) idleSteps -= this.#sortOut(owner, line, deadline, now);
      const job = line.waiting.peek();
      if (job !== undefined && !this.#isLate(job, now)) {
        line.waiting.shift();
        const cost = this.#work.run(owner, job);
        this.#places -= cost;
        if (cost === 0) idleSteps -= 1;
      }
      toTheEnd(this.#waiting, owner, line.waiting.length);
    }
    if (deadline !== undefined) this.#letGo(deadline);
  }

  #isLate(job: Job, now: DurationMs): boolean {
    const { deadline } = this.#work;
    return deadline !== undefined && deadline.dueAt(job) <= now;
  }

  /** Moves what is late out of the way of what is not; returns how many. */
  #sortOut(owner: Owner, line: Line<Job>, { dueAt }: Deadline<Owner, Job>, now: DurationMs): number {
    let moved = 0;
    for (let job = line.waiting.peek(); job !== undefined && dueAt(job) <= now; job = line.waiting.peek()) {
      if (moved >= maxIdleSteps) break;
      line.waiting.shift();
      line.late.push(job);
      moved += 1;
    }
    if (moved > 0) this.#late.set(owner, line);
    return moved;
  }

  #letGo({ letGo, perTurn }: Deadline<Owner, Job>): void {
    let places = perTurn;
    let idleSteps = maxIdleSteps;
    for (const [owner, line] of this.#late) {
      if (places <= 0 || idleSteps <= 0) return;
      const job = line.late.shift();
      if (job !== undefined && letGo(owner, job)) places -= 1;
      else idleSteps -= 1;
      toTheEnd(this.#late, owner, line.late.length);
    }
  }
}

/** The line has had its turn; what it did may have parked or dropped it meanwhile. */
function toTheEnd<Owner, Job>(ring: Map<Owner, Line<Job>>, owner: Owner, left: number): void {
  const line = ring.get(owner);
  if (line === undefined) return;
  ring.delete(owner);
  if (left > 0) ring.set(owner, line);
}
