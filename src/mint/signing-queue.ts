// Signatures that are made off the event loop (RSA, P-384), a few at once, oldest first. What has waited past its
// deadline is dropped unsigned: a slow signer must not spend its time on asks that were already refused. Must not know
// what is signed.
import type { Clock, DurationMs } from '../clock.ts';

export type SigningQueue = {
  /** resolves to undefined when the job was not started in time or the queue is full; rejects as the job does */
  run<Result>(job: () => Promise<Result>): Promise<Result | undefined>;
};

type QueueLimits = { readonly atOnce: number; readonly maxWaiting: number; readonly deadlineMs: DurationMs };

type Waiting = { readonly dueAt: number; readonly start: () => void; readonly drop: () => void };

export function createSigningQueue(clock: Clock, limits: QueueLimits): SigningQueue {
  const waiting: Waiting[] = [];
  let running = 0;

  function next(): void {
    running -= 1;
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      if (job.dueAt > clock.monotonic()) {
        job.start();
        return;
      }
      job.drop();
    }
  }

  return {
    run<Result>(job: () => Promise<Result>) {
      if (running >= limits.atOnce && waiting.length >= limits.maxWaiting) return Promise.resolve(undefined);
      return new Promise<Result | undefined>((resolve, reject) => {
        const start = (): void => {
          running += 1;
          job().finally(next).then(resolve, reject);
        };
        if (running < limits.atOnce) start();
        else waiting.push({ dueAt: clock.monotonic() + limits.deadlineMs, start, drop: () => resolve(undefined) });
      });
    },
  };
}
