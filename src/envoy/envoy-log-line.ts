// Envoy's log as we read it: one JSON object a line (envoy-command.ts), or raw text from before its logger works. Pure.
import { envoyErrors } from './envoy-errors.ts';
import type { LeafgateError } from '../errors.ts';
import { scrubPem } from '../observe/scrub-pem.ts';

type Level = 'debug' | 'info' | 'warn' | 'error';
export type EnvoyLogLine = { readonly level: Level; readonly logger: string; readonly message: string };

/** the longest message kept: Envoy can quote a whole configuration or response in one */
const maxMessageChars = 2_000;

const levels: ReadonlyMap<string, Level> = new Map([
  ['trace', 'debug'],
  ['debug', 'debug'],
  ['info', 'info'],
  ['warning', 'warn'],
  ['error', 'error'],
  ['critical', 'error'],
]);

/**
 * Parses one line. PEM is scrubbed, key or not: Envoy 1.40 prints a malformed SDS response, leaf key included, at
 * warning (measured).
 */
export function parseEnvoyLogLine(line: string): EnvoyLogLine {
  const fields = parseFields(line);
  // a raw line is an exception's text or a crash: worth a person's eye
  if (fields === undefined) return { level: 'error', logger: 'raw', message: clean(line) };
  return { level: levels.get(fields.level) ?? 'warn', logger: clean(fields.logger), message: clean(fields.message) };
}

const noise: readonly RegExp[] = [
  // we stop Envoy with this signal ourselves
  /^caught (ENVOY_)?SIG(TERM|INT)$/,
  // the limit is in the generated bootstrap; a minimal one of a test or of `sds` has none by choice
  /^There is no configured limit to the number of allowed active downstream connections/,
];

/** lines that say nothing a person could act on */
export function isNoise(line: EnvoyLogLine): boolean {
  return noise.some((pattern) => pattern.test(line.message));
}

/** what stands before the place and the fault in a refusal, the same every time */
const protobufPreamble = /^Protobuf message \(type \S+ reason \w+: (?:invalid JSON in \S+ @ )?/;

/** Why Envoy ended while starting, from its last lines. */
export function explainStartFailure(
  lines: readonly EnvoyLogLine[],
  start: { readonly file: string; readonly how: string },
): LeafgateError {
  for (const { message } of lines) {
    const bind = /cannot bind '([^']+)': (.+?)(?:`|$)/.exec(message);
    if (bind !== null) return explainBind(bind[1] ?? '', bind[2] ?? '');
  }
  for (const { message } of lines) {
    const refused = /^error `([\s\S]*)` initializing config '/.exec(message);
    const detail = (refused?.[1] ?? '').replace(/\s+/g, ' ').replace(protobufPreamble, '');
    if (refused !== null) return envoyErrors.error('envoy-config-refused', { file: start.file, detail });
  }
  const detail = lines.findLast((line) => line.level === 'error')?.message ?? lines.at(-1)?.message;
  return envoyErrors.error('envoy-died-at-start', { how: start.how, detail: detail ?? 'it said nothing' });
}

function explainBind(address: string, detail: string): LeafgateError {
  if (detail === 'Address already in use') return envoyErrors.error('envoy-listen-in-use', { address });
  return envoyErrors.error('envoy-listen-refused', { address, detail });
}

function parseFields(line: string): { level: string; logger: string; message: string } | undefined {
  if (!line.startsWith('{"level":"')) return undefined;
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    const { level, logger, message } = parsed as Readonly<Record<string, unknown>>;
    if (typeof level !== 'string' || typeof logger !== 'string' || typeof message !== 'string') return undefined;
    return { level, logger, message };
  } catch {
    return undefined;
  }
}

function clean(text: string): string {
  const scrubbed = scrubPem(text.trim());
  return scrubbed.length > maxMessageChars ? `${scrubbed.slice(0, maxMessageChars)}…` : scrubbed;
}
