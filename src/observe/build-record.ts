// One line of the access log, with what is known of its tunnel, as a record. Pure.
import { defaultRuleName } from '../policy/policy-judge.ts';
import type { Verdict } from '../policy/policy-types.ts';
import type { OriginCause } from '../settings/origin-causes.ts';
import { isEstablished, type AccessLogLine } from './access-log-line.ts';
import type { AccessRecord, FoundReason, OriginCertificateFate, RecordKind, RecordReason } from './access-record.ts';
import { originCauseOf, outcomeOf, refusingRule, upstreamFailure } from './explain-request.ts';
import { reasonSpec, type ClientTlsVerdict } from './reason-table.ts';
import type { SeenLeaves } from './seen-leaves.ts';

export type RecordParts = {
  readonly line: AccessLogLine;
  readonly kind: RecordKind;
  readonly leaves: SeenLeaves;
  readonly tunnel: { readonly opening: AccessLogLine } | undefined;
  readonly reason?: FoundReason;
};

export function buildRecord({ line, kind, leaves, tunnel, reason }: RecordParts): AccessRecord {
  const opening = tunnel?.opening ?? line;
  const { text, number } = line;
  const cause = originCauseOf(line);
  return withoutAbsent({
    kind,
    time: line.start,
    id: line.id,
    client: text.client ?? opening.text.client ?? '',
    actor: text.actor ?? opening.text.actor,
    connect: text.connect ?? opening.text.connect,
    sni: text.sni,
    ...targetOf(line, opening),
    ...decisionOf(line, opening, reason),
    outcome: outcomeOf(reason),
    clientTls: clientTlsOf(line, reason),
    ...leafOf(line, leaves),
    // of a handshake that never ended Envoy shows a version that nobody agreed on (measured)
    tls: line.leg === 'listener' && number.handshake_ms === undefined ? undefined : text.tls,
    proxyTls: line.leg === 'front' ? undefined : (text.proxy_tls ?? opening.text.proxy_tls),
    method: text.method,
    path: line.leg === 'connect' ? undefined : pathOf(line),
    protocol: text.protocol,
    upstreamProtocol: text.upstream_protocol,
    status: number.status,
    grpcStatus: number.grpc_status,
    handshakeMs: handshakeMsOf(line, opening),
    firstByteMs: line.leg === 'connect' ? undefined : number.first_byte_ms,
    durationMs: line.durationMs,
    bytesReceived: line.rx,
    bytesSent: line.tx,
    upstream: text.upstream,
    upstreamTls: text.upstream_tls,
    originCertificate: certificateFate(line, cause),
    cause,
    upstreamFailure: upstreamFailure(line) || undefined,
    reason: withRemedy(reason),
  });
}

function withRemedy(reason: FoundReason | undefined): RecordReason | undefined {
  if (reason === undefined) return undefined;
  return { code: reason.code, words: reason.words, remedy: reason.remedy ?? reasonSpec(reason.code).remedy };
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
  reason: FoundReason | undefined,
): { decision: Verdict; rule: string } {
  const refusing = reason?.code === 'policy' ? refusingRule(line) : undefined;
  const [verdict = '', ...name] = (refusing ?? line.text.rule ?? opening.text.rule ?? '').split(':');
  // a rule may say intercept and a guard still refuse: what counts is whether the request was let through
  const wasLetThrough = outcomeOf(reason) !== 'refused' && isVerdict(verdict);
  const decision = wasLetThrough ? verdict : 'deny';
  return { decision, rule: name.join(':') || defaultRuleName };
}

function isVerdict(text: string): text is Verdict {
  return verdicts.has(text);
}

/** A request shows that the client took our certificate, and so does a connection without a reason; else the reason tells. */
function clientTlsOf(line: AccessLogLine, reason: FoundReason | undefined): ClientTlsVerdict | undefined {
  if (line.leg === 'intercept') return 'trusts';
  if (line.leg !== 'listener') return undefined;
  return reason === undefined ? 'trusts' : reasonSpec(reason.code).clientTls;
}

/**
 * From the moment the tunnel stood to the end of the handshake. A request's line knows that end only against its own start,
 * and the tunnel's beginning from the line that told it.
 */
function handshakeMsOf(line: AccessLogLine, opening: AccessLogLine): number | undefined {
  const { handshake_ms: whole, handshake_end_ms: endAfterStart } = line.number;
  if (endAfterStart === undefined) return whole;
  if (!isEstablished(opening)) return undefined;
  const tookMs = Date.parse(line.start) + endAfterStart - (Date.parse(opening.start) + opening.durationMs);
  return Number.isFinite(tookMs) ? Math.max(0, tookMs) : undefined;
}

/** `serialNumber=5a47…,CN=…`: our leaves repeat their serial in the subject, in hex */
function leafOf(line: AccessLogLine, leaves: SeenLeaves): Pick<AccessRecord, 'leaf' | 'leafSerial'> {
  const serial = /serialNumber=([0-9a-fA-F]{2,40})/.exec(line.text.leaf ?? '')?.[1]?.toLowerCase();
  return serial === undefined ? {} : { leaf: leaves.judge(serial, line.id), leafSerial: serial };
}

/** Envoy notes the version only of a connection whose certificate it has accepted. */
function certificateFate(line: AccessLogLine, cause: OriginCause | undefined): OriginCertificateFate | undefined {
  if (line.text.upstream_tls !== undefined) return 'verified';
  return cause === 'expired' || cause === 'not_trusted' || cause === 'wrong_name' ? cause : undefined;
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
