// What doctor can find: each problem with an id, how bad it is, a sentence and a remedy, in tables from which docs/doctor.md
// is made. Pure.
import { fill, type ErrorFields } from '../errors.ts';

/** fault: something does not or will not work · warning: it works, and somebody should know */
export type Severity = 'fault' | 'warning';

/** as an error's: lower case, no full stop; `{field}` is replaced */
export type ProblemSpec = { readonly severity: Severity; readonly what: string; readonly remedy: string };

export type Problem = {
  readonly id: string;
  readonly severity: Severity;
  readonly what: string;
  readonly remedy: string;
  /** in a file that was examined, both from 1 */
  readonly line?: number;
  readonly column?: number;
};

export type ProblemTable<Id extends string> = {
  readonly specs: { readonly [id in Id]: ProblemSpec };
  readonly problem: (id: Id, fields?: ErrorFields) => Problem;
};

export function problemTable<Id extends string>(specs: { readonly [id in Id]: ProblemSpec }): ProblemTable<Id> {
  return {
    specs,
    problem: (id, fields = {}) => {
      const { severity, what, remedy } = specs[id];
      return { id, severity, what: fill(what, fields), remedy: fill(remedy, fields) };
    },
  };
}
