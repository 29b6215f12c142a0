// Why a request or tunnel was refused or failed, in words, from Envoy's flags and details. Pure.
import { defaultRuleName } from '../policy/policy-judge.ts';
import { originCauseSigns, type OriginCause } from '../settings/origin-causes.ts';
import type { AccessLogLine } from './access-log-line.ts';
import type { FoundReason } from './access-record.ts';
import { cutByStop, wasCutByStop } from './gateway-stop.ts';
import { reasonSpec, type ReasonCode, type RecordOutcome } from './reason-table.ts';

/** the name that an RBAC refusal gives in details or termination: a rule, or `name-mismatch` */
export function refusingRule(line: AccessLogLine): string | undefined {
  const details = `${line.text.details ?? ''} ${line.text.termination ?? ''}`;
  // the name may hold brackets itself: `deny:[2001:db8::1]:443`
  return /rbac_access_denied_matched_policy\[(\S*)\](?=\s|$)/.exec(details)?.[1];
}

const namesRule = 'name-mismatch';
const onlyClosedAddresses = 'the host has only addresses that are closed to clients; open one with --allow-destination';

/** refusals of the destination guard by its rules' names; a name's addresses are judged in the DNS cache */
const destinationRules: { readonly [rule: string]: string } = {
  'gateway-itself': 'the target is the gateway itself, which would ask itself without end',
  'guarded-address': onlyClosedAddresses,
  'address-form': 'the host is a number and no address: write IPv4 as four decimal numbers without leading zeros',
  'target-form': 'the target is no host with a port from 1 to 65535',
};

/** undefined when nothing went wrong that Envoy knows of: an origin's own 503 is an answer */
export function explainRequest(line: AccessLogLine): FoundReason | undefined {
  const stop = wasCutByStop(line) ? cutByStop : undefined;
  // first of all what quotes an origin's certificate, in which anything can stand
  return originTls(line) ?? refusal(line) ?? stop ?? refusedForm(line) ?? byFlags(line) ?? byDetails(line);
}

export function outcomeOf(reason: FoundReason | undefined): RecordOutcome {
  return reason === undefined ? 'ok' : reasonSpec(reason.code).outcome;
}

/** The word that the client was told, by the table that makes Envoy's answers; undefined once an answer had begun. */
export function originCauseOf(line: AccessLogLine): OriginCause | undefined {
  if (line.leg === 'tcp' || line.leg === 'listener') return undefined;
  const text = `${line.text.details ?? ''} ${line.text.upstream_failure ?? ''}`;
  if (originTls(line) === undefined && (refusal(line) !== undefined || /after_response_started/.test(text))) {
    return undefined;
  }
  return originCauseSigns.find(({ details, flag }) => {
    return details === undefined ? hasFlag(line, flag) : text.includes(details);
  })?.cause;
}

/** no rule may have the name that the default is given */
const byDefault: FoundReason = {
  code: 'policy',
  words: 'no rule lets it through, and the default refuses',
  remedy: 'add the host to a rule, or with --allow; `leafgate policy explain HOST` says which rules there are for it',
};

function refusal(line: AccessLogLine): FoundReason | undefined {
  const rule = refusingRule(line);
  if (rule === namesRule) return { code: 'name-mismatch', words: namesThatDiffer(line) };
  const ofDestination = destinationRules[rule ?? ''];
  if (ofDestination !== undefined) return { code: 'destination-denied', words: ofDestination };
  if (rule === `deny:${defaultRuleName}`) return byDefault;
  if (rule !== undefined) return { code: 'policy', words: `refused by rule ${rule.replace(/^deny:/, '')}` };
  if (/dns_cache_overflow|pending_request/.test(line.text.details ?? '')) {
    return { code: 'overload', words: 'the gateway remembers too many names just now' };
  }
  if (!/address_denied/.test(everyDetail(line))) return undefined;
  return { code: 'destination-denied', words: onlyClosedAddresses };
}

function namesThatDiffer({ text, leg }: AccessLogLine): string {
  const names = [`the CONNECT names ${text.connect ?? 'nothing'}`];
  if (leg !== 'clear') names.push(`TLS names ${text.sni ?? 'nothing'}`);
  if (leg !== 'tcp') names.push(`the request names ${text.authority ?? 'nothing'}`);
  return `${names.join(', ')}: they must be the same`;
}

/** what BoringSSL and Envoy's validator say about an origin's certificate */
const originFaults: readonly (readonly [RegExp, string])[] = [
  [/verify SAN list/, 'it is for another name'],
  [/certificate has expired/, 'it has expired'],
  [/not yet valid/, 'it is not valid yet'],
  [/self.signed/i, 'it is self-signed; trust its CA with --origin-ca'],
  [/unable to get (?:local )?issuer|unknown ca/i, 'its CA is not trusted here; trust it with --origin-ca'],
];

function originTls(line: AccessLogLine): FoundReason | undefined {
  const failure = upstreamFailure(line);
  if (/CERTIFICATE VERIFY FAILED/.test(failure)) {
    const fault = originFaults.find(([sign]) => sign.test(failure))?.[1] ?? 'it could not be verified';
    return { code: 'origin-distrusted', words: `the origin's certificate is not accepted: ${fault}` };
  }
  if (/TLS error/.test(failure) && hasFlag(line, 'UF')) {
    return { code: 'origin-handshake', words: 'the origin and the gateway could not agree on TLS' };
  }
  return undefined;
}

const unresolvedTunnel: FoundReason = {
  code: 'origin-not-resolved',
  words: 'the name has no address, or only ones that are closed to clients',
};

/** RFC 9110 15.2.2, as for WebSocket */
const switchingProtocols = 101;

const tooManyOpen = 'too many connections are open through the gateway';

/** Envoy's response flags, the telling ones first */
const flagReasons: readonly (readonly [string, ReasonCode, string])[] = [
  ['DF', 'origin-not-resolved', 'the name could not be resolved'],
  ['UO', 'overload', tooManyOpen],
  ['RL', 'rate-limited', 'the client asked for more at once than --client-rate lets it'],
  ['OM', 'overload', 'the gateway is short of memory'],
  ['UT', 'origin-timeout', 'the origin did not answer in time'],
  ['UF', 'origin-unreachable', 'the origin could not be reached'],
  ['UH', 'origin-unreachable', 'the origin could not be reached'],
  ['UC', 'origin-reset', 'the origin closed the connection'],
  ['UR', 'origin-reset', 'the origin reset the request'],
  ['UPE', 'origin-reset', 'the origin broke the protocol'],
  ['DPE', 'client-request', 'the client broke the protocol'],
  ['SI', 'client-left', 'the connection was idle for too long'],
  ['DT', 'client-left', 'the connection reached its longest time'],
  ['DC', 'client-left', 'the client closed the connection'],
];

function byFlags(line: AccessLogLine): FoundReason | undefined {
  // an upgraded connection has no other end than that somebody closes it
  if (line.number.status === switchingProtocols) return undefined;
  // a tunnel's forward proxy keeps to itself why it found no address (measured)
  if (line.leg === 'tcp' && hasFlag(line, 'UH')) return unresolvedTunnel;
  const found = flagReasons.find(([flag]) => hasFlag(line, flag));
  if (found === undefined) return undefined;
  const [flag, code, words] = found;
  const isRefusedConnection = flag === 'UF' && /Connection refused/.test(upstreamFailure(line));
  return { code, words: isRefusedConnection ? 'the origin refused the connection' : words };
}

/** what the gateway does not forward, by Envoy's details */
const notForwarded: { readonly [details: string]: Omit<FoundReason, 'code'> } = {
  upgrade_failed: {
    words: 'the client asked to change to another protocol than WebSocket',
    remedy: 'have a rule relay the host if it must be spoken',
  },
  absolute_path_rejected: {
    words: 'the URL has no slash after its host, where its path begins',
    remedy:
      'ask for `http://host/?query`, to which the answer leads; a client that follows redirects does so by itself',
  },
  'http1.https_url_on_plaintext_connection': {
    words: 'an https URL was asked for without a CONNECT: it would have left in clear',
    remedy: 'use a client that opens a tunnel for https URLs, as nearly all do',
  },
};

function refusedForm(line: AccessLogLine): FoundReason | undefined {
  const found = notForwarded[line.text.details ?? ''];
  return found === undefined ? undefined : { code: 'client-request', ...found };
}

/** answers of Envoy's own that carry no flag: a request it could not take */
function byDetails(line: AccessLogLine): FoundReason | undefined {
  const status = line.number.status ?? 0;
  const details = line.text.details ?? '';
  if (status < 400 || details === 'via_upstream' || details === '') return undefined;
  if (/reached_concurrency_limit/.test(details)) return { code: 'overload', words: tooManyOpen };
  if (/overload/.test(details)) return { code: 'overload', words: 'the gateway is short of memory' };
  return { code: 'client-request', words: `the gateway could not take the request (${details})` };
}

function hasFlag(line: AccessLogLine, flag: string): boolean {
  return (line.text.flags ?? '').split(',').includes(flag);
}

/** Envoy writes underscores for the spaces of an error's text */
export function upstreamFailure(line: AccessLogLine): string {
  return (line.text.upstream_failure ?? '').replaceAll('_', ' ');
}

function everyDetail(line: AccessLogLine): string {
  return `${line.text.details ?? ''} ${line.text.termination ?? ''} ${line.text.upstream_failure ?? ''}`;
}
