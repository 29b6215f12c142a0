// What has been started, to be stopped in the reverse order: whatever fails on the way up takes down what was up.
import { LeafgateError } from '../errors.ts';
import type { Log } from '../observe/log.ts';

export type Closers = {
  /** `close` runs once, after everything that was added later; at once when all has been closed already */
  add(label: string, close: () => void | Promise<void>): void;
  /** runs all; a failure of one does not keep the others from running and is reported to `failed` */
  closeAll(failed: (label: string, error: unknown) => void): Promise<void>;
};

/** All of them, and a line in the log for each that failed. */
export async function closeAndTell(closers: Closers, log: Log): Promise<void> {
  await closers.closeAll((label, error) =>
    log.warn('something did not stop cleanly', { detail: `${label}: ${LeafgateError.from(error).message}` }),
  );
}

export function createClosers(): Closers {
  const pending: { readonly label: string; readonly close: () => void | Promise<void> }[] = [];
  let isClosed = false;
  return {
    add: (label, close) => {
      // whoever adds this late is being stopped already, and nobody is left to tell
      if (isClosed) void Promise.resolve(close()).catch(() => undefined);
      else pending.push({ label, close });
    },
    closeAll: async (failed) => {
      isClosed = true;
      for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
        try {
          await next.close();
        } catch (error) {
          failed(next.label, error);
        }
      }
    },
  };
}
