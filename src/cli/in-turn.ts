// Runs one task at a time and, of those asked for meanwhile, only the newest: for work whose last outcome is all that
// counts, such as writing files from a pool that has changed again.

export type InTurn<Input> = (input: Input) => Promise<void>;

type Waiting<Input> = { input: Input; readonly done: Promise<void> };

/** A call whose input was replaced by a newer one settles with that one. */
export function inTurn<Input>(run: (input: Input) => Promise<void>): InTurn<Input> {
  let last: Promise<void> = Promise.resolve();
  let waiting: Waiting<Input> | undefined;
  const start = async (): Promise<void> => {
    await last.catch(() => undefined);
    const next = waiting;
    waiting = undefined;
    if (next !== undefined) await run(next.input);
  };
  return (input) => {
    if (waiting === undefined) {
      const done = start();
      waiting = { input, done };
      last = done;
    } else {
      waiting.input = input;
    }
    return waiting.done;
  };
}
