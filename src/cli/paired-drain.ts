// The end of a pod, which the kubelet tells both containers at once: the sidecar by a command, over a socket that is private to
// it, Envoy by a request that anybody who reaches the port could send. Only the two together drain Envoy. So nobody drains it
// from outside, and a sidecar that is restarted alone cuts no connection.
import { seconds, type Clock, type Timer } from '../clock.ts';

export type PairedDrainParts = {
  readonly clock: Clock;
  /** settles when no connection is left, or when the time for that is over; never rejects */
  readonly drain: () => Promise<void>;
  /** told when it begins */
  readonly begun: () => void;
};

/** `alone`: the other container was told nothing */
export type DrainOutcome = 'drained' | 'alone';

export interface PairedDrain {
  /** the sidecar's own hook */
  announce(): Promise<DrainOutcome>;
  /** Envoy's hook, or somebody who pretends to be it */
  wait(): Promise<DrainOutcome>;
}

/** hooks of one pod run at once; a command takes a second to start, on a busy machine several */
const pairWithin = seconds(10);
/** who waits longest makes way: the kubelet's own request must not be kept out */
const mostWaiting = 8;

type Caller = { readonly settle: (outcome: DrainOutcome) => void; readonly timer: Timer };

export function createPairedDrain({ clock, drain, begun }: PairedDrainParts): PairedDrain {
  const waiting: Record<'announced' | 'asked', Set<Caller>> = { announced: new Set(), asked: new Set() };
  let drained: Promise<DrainOutcome> | undefined;
  const both = (): boolean => waiting.announced.size > 0 && waiting.asked.size > 0;
  const join = (callers: Set<Caller>): Promise<DrainOutcome> => {
    if (drained !== undefined) return drained;
    const { promise, resolve } = Promise.withResolvers<DrainOutcome>();
    const leave = (): void => {
      callers.delete(caller);
      resolve('alone');
    };
    const caller: Caller = { settle: resolve, timer: clock.after(pairWithin, leave) };
    callers.add(caller);
    const [longest] = callers;
    if (callers.size > mostWaiting && longest !== undefined) dismiss(callers, longest);
    if (both()) start();
    return promise;
  };
  const start = (): void => {
    begun();
    drained = drain().then(() => 'drained' as const);
    for (const caller of [...waiting.announced, ...waiting.asked]) {
      caller.timer.cancel();
      void drained.then(caller.settle);
    }
  };
  return { announce: () => join(waiting.announced), wait: () => join(waiting.asked) };
}

function dismiss(callers: Set<Caller>, caller: Caller): void {
  callers.delete(caller);
  caller.timer.cancel();
  caller.settle('alone');
}
