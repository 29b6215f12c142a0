// The log behind `Log`: pino's JSON lines for machines, one short line for people. Whatever is logged, no PEM leaves, no
// field is longer than a line should be, and no reader can stop us. Must not know who logs.
import { pino, type Logger } from 'pino';
import type { LogFields, Log } from './log.ts';
import { formatLogLine } from './format-log-line.ts';
import { lineFields } from './log-field-names.ts';
import { scrubPem } from './scrub-pem.ts';

type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export type CreateLogOptions = {
  readonly level: LogLevel;
  /** JSON lines; otherwise lines for people */
  readonly json: boolean;
  /** see line-writer.ts for one that never blocks */
  readonly destination: { write(line: string): void };
  /** colour the level of lines for people */
  readonly isTerminal?: boolean;
};

/** the longest text of one field; Envoy and peers can send any amount */
const maxFieldChars = 2_000;

export function createLog(options: CreateLogOptions): Log {
  const { destination, json, level, isTerminal = false } = options;
  const forPeople = { write: (line: string) => destination.write(formatLogLine(line, isTerminal)) };
  const logger = pino(
    {
      level,
      base: null,
      messageKey: lineFields.sentence,
      timestamp: () => `,"${lineFields.time}":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ [lineFields.level]: label }) },
    },
    json ? destination : forPeople,
  );
  return wrap(logger);
}

function wrap(logger: Logger): Log {
  return {
    // cleaning costs more than a mint has to spare, and debug lines are mostly off
    debug: (sentence, fields) => {
      if (logger.isLevelEnabled('debug')) logger.debug(clean(fields), cleanText(sentence));
    },
    info: (sentence, fields) => logger.info(clean(fields), cleanText(sentence)),
    warn: (sentence, fields) => logger.warn(clean(fields), cleanText(sentence)),
    error: (sentence, fields) => logger.error(clean(fields), cleanText(sentence)),
    with: (fields) => wrap(logger.child(clean(fields))),
  };
}

function clean(fields: LogFields = {}): Record<string, string | number | boolean> {
  const cleaned: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) cleaned[name] = typeof value === 'string' ? cleanText(value) : value;
  }
  return cleaned;
}

function cleanText(text: string): string {
  const scrubbed = scrubPem(text);
  return scrubbed.length > maxFieldChars ? `${scrubbed.slice(0, maxFieldChars)}…` : scrubbed;
}
