// How an error looks to a person: one line that says what is wrong, where, and what to do; one such line for each of
// several problems, or for programs one JSON line each. A stack trace only with --verbose.
import { problemsOf, type LeafgateError } from '../errors.ts';
import type { CommandContext } from './command-context.ts';

export function printError(error: LeafgateError, context: CommandContext): void {
  for (const problem of problemsOf(error)) context.io.stderr(`${errorLine(problem)}\n`);
  if (context.isVerbose()) context.io.stderr(`${stackOf(error)}\n`);
}

/** The same as lines of the JSON log. */
export function logError(error: LeafgateError, context: CommandContext): void {
  const log = context.createLog(true);
  for (const { message, code, remedy } of problemsOf(error)) log.error(message, { code, remedy });
  log.debug('stack trace', { detail: stackOf(error) });
}

/** `leafgate: <what>; <what to do> [code]` */
export function errorLine(error: LeafgateError): string {
  return `leafgate: ${error.message}; ${error.remedy} [${error.code}]`;
}

function stackOf(error: Error): string {
  const own = error.stack ?? error.message;
  return error.cause instanceof Error ? `${own}\ncaused by: ${stackOf(error.cause)}` : own;
}
