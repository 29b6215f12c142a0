// One line of Envoy's access log, parsed: the fields that bootstrap writes, each checked and capped. Pure; must not know
// how lines are joined.
import { epoch, type EpochMs } from '../clock.ts';
import { printable } from '../errors.ts';

type AccessLogLeg = 'front' | 'redirected' | 'connect' | 'plain' | 'listener' | 'intercept' | 'clear' | 'tcp';

/** texts are printable and capped; what Envoy could not know is absent */
export type AccessLogLine = {
  readonly leg: AccessLogLeg;
  readonly type: string;
  readonly start: string;
  readonly id: string;
  readonly durationMs: number;
  readonly rx: number;
  readonly tx: number;
  readonly text: { readonly [field in TextField]?: string };
  readonly number: { readonly [field in NumberField]?: number };
};

const textFields = [
  'client',
  'actor',
  'connect',
  'host',
  'rule',
  'sni',
  'method',
  'authority',
  'path',
  'protocol',
  'upstream_protocol',
  'flags',
  'details',
  'chain',
  'tls',
  'proxy_tls',
  'leaf',
  'client_tls_failure',
  'local_close',
  'termination',
  'upstream',
  'upstream_tls',
  'upstream_failure',
] as const;
const numberFields = [
  'status',
  'handshake_ms',
  'handshake_end_ms',
  'first_byte_ms',
  'connection_id',
  'grpc_status',
] as const;

type TextField = (typeof textFields)[number];

/** what is longer than other texts by nature: a SPIFFE ID, a path as Envoy cuts it, and what Envoy says of an origin */
const maxCharsOf: { readonly [field in TextField]?: number } = {
  actor: 2048,
  path: 1024,
  details: 1024,
  upstream_failure: 1024,
};
type NumberField = (typeof numberFields)[number];

const legs: ReadonlySet<string> = new Set([
  'front',
  'redirected',
  'connect',
  'plain',
  'listener',
  'intercept',
  'clear',
  'tcp',
]);

/** undefined when the line is not one of ours */
export function parseAccessLogLine(line: string): AccessLogLine | undefined {
  const fields = parseObject(line);
  const leg = fields?.['leg'];
  if (fields === undefined || !isLeg(leg)) return undefined;
  return {
    leg,
    type: textOf(fields['type']) ?? '',
    start: textOf(fields['start']) ?? '',
    id: textOf(fields['id']) ?? '',
    durationMs: numberOf(fields['duration_ms']) ?? 0,
    rx: numberOf(fields['rx']) ?? 0,
    tx: numberOf(fields['tx']) ?? 0,
    text: pick(textFields, (field) => textOf(fields[field], maxCharsOf[field])),
    number: pick(numberFields, (field) => numberOf(fields[field])),
  };
}

/** when what the line tells of had ended; a time that cannot be read is long ago */
export function endOf({ start, durationMs }: AccessLogLine): EpochMs {
  const startMs = Date.parse(start);
  return epoch(Number.isNaN(startMs) ? 0 : startMs + durationMs);
}

/** the line that says a tunnel stands or a connection was upgraded, written when it begins */
export function isEstablished(line: AccessLogLine): boolean {
  return line.type === 'DownstreamTunnelSuccessfullyEstablished';
}

function pick<Field extends string, Value>(
  names: readonly Field[],
  read: (field: Field) => Value | undefined,
): { readonly [field in Field]?: Value } {
  const picked: { [field in Field]?: Value } = {};
  for (const name of names) {
    const value = read(name);
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}

function isLeg(value: unknown): value is AccessLogLeg {
  return typeof value === 'string' && legs.has(value);
}

/** Envoy writes `-` or null for what it does not know */
function textOf(value: unknown, maxChars?: number): string | undefined {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string' || value === '' || value === '-') return undefined;
  return printable(value, maxChars);
}

function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

function parseObject(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
