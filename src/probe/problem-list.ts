// Several problems as one error and back. Pure.
import { coreErrors, LeafgateError } from '../errors.ts';

/** One error for all of them, each told once: a bad name is met once for each trust or URL. */
export function together(problems: readonly LeafgateError[]): LeafgateError {
  const distinct = new Map(problems.flatMap(eachProblem).map((problem) => [problem.message, problem]));
  const [first, ...rest] = distinct.values();
  if (first === undefined) return coreErrors.error('internal', { detail: 'a refusal without a problem' });
  return LeafgateError.all([first, ...rest]);
}

export function eachProblem(problem: LeafgateError): readonly LeafgateError[] {
  return problem.problems.length === 0 ? [problem] : problem.problems;
}
