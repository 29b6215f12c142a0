// How an error looks to a person: one line that says what is wrong, where, and what to do; one such line for each of
// several problems. A stack trace only with --verbose.
import type { LeafgateError } from '../errors.ts';
import type { CommandContext } from './command-context.ts';

export function printError(error: LeafgateError, context: CommandContext): void {
  const problems = error.problems.length > 0 ? error.problems : [error];
  for (const problem of problems) context.io.stderr(`${errorLine(problem)}\n`);
  if (context.isVerbose()) context.io.stderr(`${stackOf(error)}\n`);
}

/** `leafgate: <what>; <what to do> [code]` */
export function errorLine(error: LeafgateError): string {
  return `leafgate: ${error.message}; ${error.remedy} [${error.code}]`;
}

function stackOf(error: Error): string {
  const own = error.stack ?? error.message;
  return error.cause instanceof Error ? `${own}\ncaused by: ${stackOf(error.cause)}` : own;
}
