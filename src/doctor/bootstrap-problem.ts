// A problem with the line of what it is about. Pure.
import type { ErrorFields } from '../errors.ts';
import { bootstrapProblems } from './bootstrap-problems.ts';
import type { Place } from './bootstrap-tree.ts';
import type { Problem } from './problem-table.ts';

export type BootstrapProblemId = keyof typeof bootstrapProblems.specs;

export function problemAt(node: { readonly at: Place }, id: BootstrapProblemId, fields: ErrorFields = {}): Problem {
  return { ...bootstrapProblems.problem(id, fields), line: node.at.line, column: node.at.column };
}
