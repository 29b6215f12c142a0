// Several problems in one line.
import type { LeafgateError } from '../errors.ts';

/** The first problem, and how many more there are. */
export function problemsText(problems: readonly LeafgateError[]): string {
  const [first, ...more] = problems;
  return `${first?.message ?? 'unknown'}${more.length === 0 ? '' : ` (and ${more.length} more)`}`;
}
