// Collects what is wrong, so that a person hears of everything at once.
import { LeafgateError, problemsOf } from './errors.ts';

export type Problems = {
  /** undefined when `read` threw; what it threw is kept */
  readonly attempt: <Value>(read: () => Value) => Value | undefined;
  /** the same of what comes later */
  readonly attemptLater: <Value>(reading: Promise<Value>) => Promise<Value | undefined>;
  readonly keep: (problems: readonly LeafgateError[]) => void;
  /** throws everything that was kept, if anything was */
  readonly throwAny: () => void;
};

export function createProblems(): Problems {
  const problems: LeafgateError[] = [];
  const keepThrown = (thrown: unknown): undefined => {
    problems.push(...problemsOf(thrown));
    return undefined;
  };
  return {
    attempt: (read) => {
      try {
        return read();
      } catch (thrown) {
        keepThrown(thrown);
        return undefined;
      }
    },
    attemptLater: (reading) => reading.catch(keepThrown),
    keep: (more) => void problems.push(...more),
    throwAny: () => throwAll(problems),
  };
}

/** Throws all of them as one error; nothing where there is none. */
export function throwAll(problems: readonly LeafgateError[]): void {
  const [first, ...more] = problems;
  if (first !== undefined) throw LeafgateError.all([first, ...more]);
}
