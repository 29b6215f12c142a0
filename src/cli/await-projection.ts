// Waits for the first projection of one volume: until each of its files is there, or one cannot be had, or what might pass
// by itself has had its time.
import { seconds, type Clock } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { judgeStart } from '../projection/judge-start.ts';
import type { VolumeState } from '../projection/keep-volumes.ts';
import type { VolumeBook } from '../projection/tell-volumes.ts';
import type { TrustVolume } from '../settings/trust-volume.ts';

/** an API server that restarts is back by then (kube/try-briefly.ts), and whoever started us tries again otherwise */
const startWindow = seconds(15);

export type AwaitedProjection = {
  readonly name: string;
  readonly volume: TrustVolume;
  readonly book: VolumeBook;
  readonly clock: Clock;
  /** whether files of an earlier run may stay in use */
  readonly mayKeep: boolean;
};

/** `kept`: files of an earlier run stay, since they cannot be renewed now. Rejects with every problem of the volume. */
export function awaitProjection(awaited: AwaitedProjection): Promise<'done' | 'kept'> {
  const { name, book, clock, mayKeep } = awaited;
  const { promise, resolve, reject } = Promise.withResolvers<'done' | 'kept'>();
  let isLate = false;
  const look = (): void => {
    const verdict = judgeStart(book.state(name) ?? unseen(awaited), { mayKeep, isLate });
    switch (verdict.kind) {
      case 'wait':
        return;
      case 'done':
      case 'kept':
        resolve(verdict.kind);
        return;
      case 'failed':
        reject(LeafgateError.all(verdict.problems));
        return;
      default:
        verdict satisfies never;
    }
  };
  const timer = clock.after(startWindow, () => {
    isLate = true;
    look();
  });
  const forget = book.onChange(look);
  look();
  return promise.finally(() => {
    timer.cancel();
    forget();
  });
}

function unseen({ name, volume }: AwaitedProjection): VolumeState {
  const waiting = { kind: 'waiting', isDone: false, isThere: false } as const;
  return { name, sources: volume.sources.map((source) => ({ source, ...waiting })) };
}
