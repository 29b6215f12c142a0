// One line of the access log, with what is known of its tunnel, as a record. Pure.
import type { Verdict } from '../policy/policy-types.ts';
import type { AccessLogLine } from './access-log-line.ts';
import type { AccessRecord, RecordKind, RecordReason } from './access-record.ts';
import { originCauseOf, outcomeOf, refusingRule, upstreamFailure } from './explain-request.ts';
import type { SeenLeaves } from './seen-leaves.ts';

export type RecordParts = {
  readonly line: AccessLogLine;
  readonly kind: RecordKind;
  readonly leaves: SeenLeaves;
  readonly tunnel: { readonly opening: AccessLogLine } | undefined;
  readonly reason?: RecordReason;
};

export function buildRecord({ line, kind, leaves, tunnel, reason }: RecordParts): AccessRecord {
  const opening = tunnel?.opening ?? line;
  const { host, port } = targetOf(line, opening);
  return withoutAbsent({
    kind,
    time: line.start,
    id: line.id,
    client: line.text.client ?? opening.text.client ?? '',
    actor: line.text.actor ?? opening.text.actor,
    host,
    port,
    ...decisionOf(line, opening, reason),
    outcome: outcomeOf(reason),
    ...leafOf(line, leaves),
    method: line.text.method,
    path: line.leg === 'connect' ? undefined : pathOf(line),
    protocol: line.text.protocol,
    upstreamProtocol: line.text.upstream_protocol,
    tls: line.text.tls,
    status: line.number.status,
    durationMs: line.durationMs,
    bytesReceived: line.rx,
    bytesSent: line.tx,
    upstream: line.text.upstream,
    cause: originCauseOf(line),
    upstreamFailure: upstreamFailure(line) || undefined,
    reason,
  });
}

/** the host as Envoy normalised it; the port as the client asked for it */
function targetOf(line: AccessLogLine, opening: AccessLogLine): { host: string; port: number | undefined } {
  const authority = line.text.connect ?? opening.text.connect ?? line.text.authority ?? '';
  const split = /^\[?(.*?)\]?(?::(\d{1,5}))?$/.exec(authority);
  const host = line.text.host ?? opening.text.host ?? split?.[1] ?? '';
  return { host, port: split?.[2] === undefined ? undefined : Number(split[2]) };
}

const verdicts: ReadonlySet<string> = new Set(['intercept', 'relay', 'tcp', 'deny']);

/** `intercept:name` from the rule that Envoy applied, or from its refusal, which comes before the rule is noted */
function decisionOf(
  line: AccessLogLine,
  opening: AccessLogLine,
  reason: RecordReason | undefined,
): { decision: Verdict; rule: string } {
  const refusing = reason?.code === 'policy' ? refusingRule(line) : undefined;
  const [verdict = '', ...name] = (refusing ?? line.text.rule ?? opening.text.rule ?? '').split(':');
  // a rule may say intercept and a guard still refuse: what counts is whether the request was let through
  const wasLetThrough = outcomeOf(reason) !== 'refused' && isVerdict(verdict);
  const decision = wasLetThrough ? verdict : 'deny';
  return { decision, rule: name.join(':') || 'default' };
}

function isVerdict(text: string): text is Verdict {
  return verdicts.has(text);
}

/** `serialNumber=5a47…,CN=…`: our leaves repeat their serial in the subject, in hex */
function leafOf(line: AccessLogLine, leaves: SeenLeaves): Pick<AccessRecord, 'leaf' | 'leafSerial'> {
  const serial = /serialNumber=([0-9a-fA-F]{2,40})/.exec(line.text.leaf ?? '')?.[1]?.toLowerCase();
  return serial === undefined ? {} : { leaf: leaves.judge(serial, line.id), leafSerial: serial };
}

/** Envoy leaves the query out already; this holds it, whatever the format says */
function pathOf(line: AccessLogLine): string | undefined {
  return line.text.path?.replace(/[?#].*$/s, '');
}

type WithAbsent<Value> = { [Key in keyof Value]: Value[Key] | undefined };

/** drops keys whose value is undefined, so that JSON and types agree */
function withoutAbsent(record: WithAbsent<AccessRecord>): AccessRecord {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as AccessRecord;
}
