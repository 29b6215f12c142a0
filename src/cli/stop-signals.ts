// The wish to stop, as a person or a supervisor sends it.
import { constants } from 'node:os';
import type { Io } from './command-context.ts';

/** a terminal and a wrapper (npm, timeout) each send the same Ctrl-C: what comes this soon is the same wish */
const sameWishMs = 500;

/** what a shell returns for a command that a signal ended (POSIX sh, 2.8.2; 130 for Ctrl-C) */
export function interruptedExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** The first wish to stop, and the second one, for whoever does not want to wait. */
export function signalHeard(io: Io): {
  readonly first: Promise<NodeJS.Signals>;
  readonly second: Promise<NodeJS.Signals>;
} {
  const first = Promise.withResolvers<NodeJS.Signals>();
  const second = Promise.withResolvers<NodeJS.Signals>();
  let firstAt: number | undefined;
  io.onSignal((signal) => {
    const now = io.clock.monotonic();
    if (firstAt === undefined) {
      firstAt = now;
      first.resolve(signal);
    } else if (now - firstAt > sameWishMs) {
      second.resolve(signal);
    }
  });
  return { first: first.promise, second: second.promise };
}
