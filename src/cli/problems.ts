// Collects what is wrong with a call, so that a person hears of everything at once.
import { LeafgateError } from '../errors.ts';

export type Problems = {
  /** undefined when `read` threw; what it threw is kept */
  readonly attempt: <Value>(read: () => Value) => Value | undefined;
  /** throws everything that was kept, if anything was */
  readonly throwAny: () => void;
};

export function createProblems(): Problems {
  const problems: LeafgateError[] = [];
  return {
    attempt: (read) => {
      try {
        return read();
      } catch (thrown) {
        const error = LeafgateError.from(thrown);
        problems.push(...(error.problems.length > 0 ? error.problems : [error]));
        return undefined;
      }
    },
    throwAny: () => {
      const [first, ...more] = problems;
      if (first !== undefined) throw LeafgateError.all([first, ...more]);
    },
  };
}
