// One log line for people, made from pino's JSON: time, level, sentence, fields. Pure; control characters that a client
// chose never reach the terminal.
import { printable } from '../errors.ts';
import { lineFields } from './log-field-names.ts';

const colours: Readonly<Record<string, string>> = { warn: '\u001b[33m', error: '\u001b[31m', debug: '\u001b[2m' };
const plain = '\u001b[0m';

export function formatLogLine(jsonLine: string, isTerminal: boolean): string {
  const fields = parseFields(jsonLine);
  if (fields === undefined) return `${printable(jsonLine)}\n`;
  const { [lineFields.time]: time, [lineFields.level]: level, [lineFields.sentence]: sentence, ...rest } = fields;
  const label = shownLevel(String(level), isTerminal);
  const details = Object.entries(rest).map(([name, value]) => `${printable(name)}=${shownValue(value)}`);
  const clock = String(time).slice(11, 19);
  return `${[clock, label, printable(String(sentence)), ...details].join(' ')}\n`;
}

function shownLevel(level: string, isTerminal: boolean): string {
  const padded = level.padEnd(5);
  const colour = isTerminal ? colours[level] : undefined;
  return colour === undefined ? padded : `${colour}${padded}${plain}`;
}

function shownValue(value: unknown): string {
  const text = printable(typeof value === 'string' ? value : JSON.stringify(value));
  return /^[^\s"=]+$/.test(text) ? text : `"${text.replaceAll('"', '\\"')}"`;
}

function parseFields(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
