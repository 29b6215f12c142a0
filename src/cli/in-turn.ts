// Runs one task at a time and, of those asked for meanwhile, only the newest: for work whose last outcome is all that
// counts, such as writing files from a pool that has changed again.

export type InTurn<Input> = (input: Input) => Promise<void>;

/** A skipped call settles with the newer one that ran in its place. */
export function inTurn<Input>(run: (input: Input) => Promise<void>): InTurn<Input> {
  let running: Promise<void> = Promise.resolve();
  let waiting: { input: Input; readonly done: Promise<void> } | undefined;
  return (input) => {
    if (waiting !== undefined) {
      waiting.input = input;
      return waiting.done;
    }
    const done = running
      .catch(() => undefined)
      .then(() => {
        const newest = next.input;
        waiting = undefined;
        return run(newest);
      });
    const next = { input, done };
    waiting = next;
    running = done;
    return done;
  };
}
