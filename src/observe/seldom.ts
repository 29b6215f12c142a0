// Keeps what clients can cause at any rate from filling the log: the first of a kind is told at once, then one a second
// at most, with how many were left out in between. Kinds are from closed sets, so that nothing here grows.
import { seconds, type Clock } from '../clock.ts';
import type { LogFields } from './log.ts';

/** `write` is called with how many of this kind were left out since the last one */
export type Seldom = (kind: string, write: (leftOut: number) => void) => void;

const window = seconds(1);

/** how many lines of a kind were left out, where any were */
export function lostField(leftOut: number): LogFields {
  return leftOut === 0 ? {} : { lost: leftOut };
}

export function createSeldom(clock: Clock): Seldom {
  const kinds = new Map<string, { toldAt: number; leftOut: number }>();
  return (kind, write) => {
    const now = clock.monotonic();
    const known = kinds.get(kind);
    if (known !== undefined && now - known.toldAt < window) {
      known.leftOut += 1;
      return;
    }
    kinds.set(kind, { toldAt: now, leftOut: 0 });
    write(known?.leftOut ?? 0);
  };
}
