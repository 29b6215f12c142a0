// Collects what is wrong with a call, so that a person hears of everything at once.
import { LeafgateError, problemsOf } from '../errors.ts';

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
        problems.push(...problemsOf(thrown));
        return undefined;
      }
    },
    throwAny: () => {
      const [first, ...more] = problems;
      if (first !== undefined) throw LeafgateError.all([first, ...more]);
    },
  };
}

/** One line: the first problem, and how many more there are. */
export function problemsText(problems: readonly LeafgateError[]): string {
  const [first, ...more] = problems;
  return `${first?.message ?? 'unknown'}${more.length === 0 ? '' : ` (and ${more.length} more)`}`;
}
