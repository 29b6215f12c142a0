// What every edge logs through: a fixed sentence and fields. The pino behind it is made by `createLog` (create-log.ts).
// Must not know who logs.
import type { LogFieldName } from './log-field-names.ts';

export type LogFields = { readonly [field in LogFieldName]?: string | number | boolean | undefined };

export interface Log {
  debug(sentence: string, fields?: LogFields): void;
  info(sentence: string, fields?: LogFields): void;
  warn(sentence: string, fields?: LogFields): void;
  error(sentence: string, fields?: LogFields): void;
  /** a log whose every line carries these fields */
  with(fields: LogFields): Log;
}
