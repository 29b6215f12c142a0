// The mints of one stream: runs a job through the minter and sees to it that whoever asks hears of it within the answer
// deadline, counted from the ask, wherever the job is by then. Must not know the protocol, turns or bytes.
import { millis, type Clock, type DurationMs } from '../clock.ts';
import type { MintOutcome, Minter } from '../mint/mint-types.ts';
import type { AskedName } from '../names/name-types.ts';
import { DeadlineWatch } from './deadline-watch.ts';

export type MintJob = {
  readonly name: AskedName;
  readonly ticket: number;
  /** `ask`: somebody waits; `refresh`: the peer serves what it holds meanwhile */
  readonly urgency: 'ask' | 'refresh';
  /** by the monotonic clock */
  readonly askedAt: DurationMs;
};

type MintParts = {
  readonly minter: Minter;
  readonly clock: Clock;
  readonly answerDeadlineMs: DurationMs;
  readonly answer: (job: MintJob, outcome: MintOutcome) => void;
};

export class StreamMints {
  readonly #parts: MintParts;
  /** asks whose leaf is being signed off the event loop; most streams never need it */
  #underWay: DeadlineWatch<MintJob> | undefined;

  constructor(parts: MintParts) {
    this.#parts = parts;
  }

  run(job: MintJob): void {
    const { minter, answer } = this.#parts;
    const outcome = minter.mint(job.name);
    if (outcome instanceof Promise) this.#wait(job, outcome);
    else answer(job, outcome);
  }

  /** Nothing more is answered by the deadline; what the minter still says is for the caller to ignore. */
  stop(): void {
    this.#underWay?.stop();
  }

  #wait(job: MintJob, outcome: Promise<MintOutcome>): void {
    const { clock, answer, answerDeadlineMs } = this.#parts;
    if (job.urgency === 'refresh') {
      void outcome.then((settled) => answer(job, settled));
      return;
    }
    this.#underWay ??= new DeadlineWatch(clock, (late) => answer(late, { kind: 'unavailable', reason: 'deadline' }));
    const watch = this.#underWay;
    const watched = watch.add(job, millis(job.askedAt + answerDeadlineMs));
    void outcome.then((settled) => {
      watch.delete(watched);
      answer(job, settled);
    });
  }
}
