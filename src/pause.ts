// A wait that ends early when nobody waits any more. Must not know what for.
import type { Clock, DurationMs } from './clock.ts';

/** Resolves after `delay`, or at once when `signal` is or becomes aborted. */
export function pause(clock: Clock, delay: DurationMs, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.after(delay, finish);
  signal?.addEventListener('abort', finish, { once: true });
  function finish(): void {
    timer.cancel();
    signal?.removeEventListener('abort', finish);
    resolve();
  }
  return promise;
}
