// One record as one line for people. What varies in length stands last, so that the columns before it line up. Pure.
import { printable } from '../errors.ts';
import type { AccessRecord } from './access-record.ts';
import type { ReasonCode } from './reason-table.ts';

const widths = { client: 21, decision: 9, leaf: 6, protocol: 7, status: 3, duration: 8 } as const;
/** the longest host and path shown; the JSON record has all of it */
const maxTargetChars = 100;

/** `10:24:31  127.0.0.1:53012  intercept  minted  h2→h1  200  34 ms  GET api.example.com/v1/x` */
export function formatRecordLine(record: AccessRecord, { withReason = true } = {}): string {
  const columns = [
    localTime(record.time),
    record.client.padEnd(widths.client),
    record.decision.padEnd(widths.decision),
    (record.leaf ?? '-').padEnd(widths.leaf),
    shownProtocol(record).padEnd(widths.protocol),
    (record.status === undefined || record.status === 0 ? '-' : String(record.status)).padStart(widths.status),
    shownDuration(record.durationMs).padStart(widths.duration),
    `${shownVerb(record)} ${shownTarget(record)}${shownActor(record, '  for ')}`,
  ];
  return printableLine(`${columns.join('  ')}${withReason ? shownReason(record) : ''}`);
}

/** the day of the person who reads; an unreadable time is shown as it is */
export function localDay({ time }: AccessRecord): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return printable(time);
  const parts = [at.getFullYear(), at.getMonth() + 1, at.getDate()];
  return parts.map((part) => String(part).padStart(2, '0')).join('-');
}

/** what a client is given to trust the gateway */
export type TrustPaths = { readonly caFile: string; readonly mergedFile: string };

/** What was wrong and what to do, in lines below a record's own; none where nothing was wrong. */
export function formatWhy(record: AccessRecord, trust: TrustPaths): readonly string[] {
  const { reason, cause, upstreamFailure } = record;
  if (reason === undefined) return [];
  const rows = [
    ['why', `${reason.words} [${reason.code}${cause === undefined ? '' : `, ${cause}`}]`],
    ['do', reason.remedy],
    ...(withRemedy.has(reason.code) ? trustRows(trust) : []),
    ...(upstreamFailure === undefined ? [] : [['origin', upstreamFailure]]),
    [
      'by',
      `${record.decision}:${record.rule}${shownActor(record, ', for ')}${record.id === '' ? '' : `, id ${record.id}`}`,
    ],
  ];
  return rows.map(([label = '', text = '']) => printableLine(`          ${label.padEnd(whyLabel)}${text}`));
}

const whyLabel = 8;

function trustRows({ caFile, mergedFile }: TrustPaths): readonly (readonly string[])[] {
  return [
    ['CA', `${caFile} (alone)`],
    ['', `${mergedFile} (with the system's roots)`],
  ];
}

/** whoever runs a client that does not trust the gateway has to do something, and is looking at this line */
const withRemedy: ReadonlySet<ReasonCode> = new Set<ReasonCode>(['client-distrusts', 'client-no-request']);

function shownActor({ actor }: AccessRecord, before: string): string {
  return actor === undefined ? '' : `${before}${actor}`;
}

function shownReason({ reason }: AccessRecord): string {
  if (reason === undefined) return '';
  return withRemedy.has(reason.code) ? `  (${reason.words}: ${reason.remedy})` : `  (${reason.words})`;
}

/** the clock of the person who reads; an unreadable time is shown as it is */
function localTime(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? time.slice(0, 8).padEnd(8) : at.toTimeString().slice(0, 8);
}

const shortProtocols: Readonly<Record<string, string>> = {
  'HTTP/1.0': 'h1.0',
  'HTTP/1.1': 'h1',
  'HTTP/2': 'h2',
  'HTTP/3': 'h3',
};

function shownProtocol({ protocol, upstreamProtocol }: AccessRecord): string {
  if (protocol === undefined) return '-';
  const client = shortProtocols[protocol] ?? protocol;
  return upstreamProtocol === undefined ? client : `${client}→${shortProtocols[upstreamProtocol] ?? upstreamProtocol}`;
}

function shownDuration(durationMs: number): string {
  return durationMs < 10_000 ? `${durationMs} ms` : `${(durationMs / 1000).toFixed(1)} s`;
}

function shownVerb(record: AccessRecord): string {
  if (record.method !== undefined) return record.method;
  return record.kind === 'handshake' ? 'TLS' : 'TCP';
}

function shownTarget({ host, port, path, kind }: AccessRecord): string {
  const isUsual = kind === 'request' && (port === undefined || port === 443 || port === 80);
  // a handshake that ended before its server name
  if (host === '') return '-';
  const authority = host.includes(':') ? `[${host}]` : host;
  const target = `${authority}${isUsual || port === undefined ? '' : `:${port}`}${path ?? ''}`;
  return target.length > maxTargetChars ? `${target.slice(0, maxTargetChars)}…` : target;
}

/** fields are escaped when parsed; this holds it for records made elsewhere, without the cap of a single field */
function printableLine(line: string): string {
  return (
    line
      .match(/.{1,250}/gs)
      ?.map((piece) => printable(piece))
      .join('') ?? ''
  );
}
