// The names of log fields, in one place, so that a line written by any room can be searched in one way. Add a name here
// before using it; docs/logs.md explains them.

/** fields that every line has */
export const lineFields = { time: 'time', level: 'level', sentence: 'message' } as const;

/** fields that a line may have; the key is the only spelling */
export const logFieldNames = [
  'room',
  'code',
  'remedy',
  'detail',
  'logger',
  'path',
  'address',
  'pid',
  'version',
  'host',
  'rule',
  'reason',
  'caId',
  'notAfter',
  'serial',
  'count',
  'lost',
  'durationMs',
  'exitCode',
  'signal',
] as const;

export type LogFieldName = (typeof logFieldNames)[number];
