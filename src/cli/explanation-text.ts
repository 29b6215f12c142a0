// What `leafgate policy explain` says: the decision, the rules that were considered, and what a client sees of it. Pure.
import { outcomeName } from '../bootstrap/policy-filter.ts';
import { refusedDestinations } from '../bootstrap/dns-cache.ts';
import { cidrContains } from '../names/cidr.ts';
import { isIpv6 } from '../names/ip-address.ts';
import type { ValidName } from '../names/name-types.ts';
import type { CandidateRule, Explanation } from '../policy/explain-decision.ts';
import { defaultRuleName } from '../policy/policy-judge.ts';
import type { PolicyQuestion, PolicyRule } from '../policy/policy-types.ts';
import { ruleHeader } from '../settings/gateway-answers.ts';
import { noSniHost } from '../settings/gateway-spec.ts';

export type ExplanationSubject = {
  readonly question: PolicyQuestion;
  /** file, or gateway */
  readonly name: string;
  readonly lines: ReadonlyMap<string, number>;
  readonly explanation: Explanation;
};

export function explanationText(subject: ExplanationSubject): string {
  const { question, explanation, lines } = subject;
  const { decision, target, candidates, passedOver } = explanation;
  const actor = question.actor === undefined ? 'a client without a verified certificate' : `actor ${question.actor}`;
  const considered =
    target === undefined
      ? ['  no rule names the host']
      : [
          `  rules for ${target}, the most specific name that holds the host:`,
          ...candidates.map((candidate) => `    ${candidateText(candidate, lines)}`),
        ];
  const why =
    decision.rule === defaultRuleName && target !== undefined
      ? ['  none of them fits, so that the default decides']
      : [];
  return [
    `${authorityOf(question)}, ${actor}: ${decision.verdict}, by ${deciderText(subject)}`,
    ...considered,
    ...why,
    ...passedOver.map(({ target: wider, rules }) => `  not looked at: ${wider} (${rules.join(', ')})`),
    ...belowHint(question, explanation),
    ...guardHint(question, explanation),
    '  what a client sees:',
    ...clientSees(subject).map((line) => `    ${line}`),
    '',
  ].join('\n');
}

export function explanationJson(subject: ExplanationSubject): object {
  const { question, name, lines, explanation } = subject;
  const { decision, target, candidates, passedOver, mayIntercept } = explanation;
  return {
    ...{ host: hostText(question.host), port: question.port, actor: question.actor ?? null, policy: name },
    ...{ verdict: decision.verdict, rule: decision.rule, outcome: outcomeName(decision.verdict, decision.rule) },
    line: lines.get(decision.rule) ?? null,
    target: target ?? null,
    candidates: candidates.map(({ rule, fate }) => ({
      ...{ rule: rule.name, line: lines.get(rule.name) ?? null, verdict: rule.verdict, fate },
      ...{ ports: rule.ports, actors: rule.actors },
    })),
    passedOver,
    mayBeMinted: mayIntercept.allowed,
    client: clientSees(subject),
  };
}

function deciderText({ explanation: { decision }, name, lines }: ExplanationSubject): string {
  const where = lines.get(decision.rule);
  const place = where === undefined ? `of ${name}` : `(${name}:${where})`;
  return decision.rule === defaultRuleName ? `the default of ${name}` : `rule ${decision.rule} ${place}`;
}

const fates: { readonly [fate in CandidateRule['fate']]: string } = {
  decides: 'decides: the first that fits',
  later: 'would fit, but comes later',
  'other-port': 'is for other ports',
  'other-actor': 'is for other actors',
};

function candidateText({ rule, fate }: CandidateRule, lines: ReadonlyMap<string, number>): string {
  const line = lines.get(rule.name);
  return `${rule.name}${line === undefined ? '' : ` (line ${line})`}: ${fates[fate]} (${conditionsText(rule)})`;
}

function conditionsText({ ports, actors, verdict }: PolicyRule): string {
  const onPorts = ports.length === 0 ? 'any port' : `port ${ports.join(', ')}`;
  const some = actors.length > 3 ? [...actors.slice(0, 3), `${actors.length - 3} more`] : actors;
  return `${verdict}, ${onPorts}, ${actors.length === 0 ? 'any actor' : `actor ${some.join(', ')}`}`;
}

function belowHint({ host }: PolicyQuestion, { isOnlyBelow }: Explanation): readonly string[] {
  if (!isOnlyBelow) return [];
  return [`  *.${hostText(host)} holds every name below ${hostText(host)}, not ${hostText(host)} itself: list both`];
}

/** whatever a rule says: rules decide who may ask, the guard where that may lead */
function guardHint({ host }: PolicyQuestion, { decision }: Explanation): readonly string[] {
  if (host.kind !== 'ip' || decision.verdict === 'deny') return [];
  const isGuarded = refusedDestinations([]).some((range) => cidrContains(range, host.address));
  return isGuarded ? ['  the destination guard closes this address unless --allow-destination opens it'] : [];
}

function clientSees({ question, explanation }: ExplanationSubject): readonly string[] {
  const { decision } = explanation;
  const host = hostText(question.host);
  const clear = 'plain HTTP: forwarded, read and shown';
  switch (decision.verdict) {
    case 'intercept':
      return question.host.kind === 'ip'
        ? [`TLS: a certificate for ${noSniHost}, and 403: an address has no server name`, clear]
        : [
            `TLS: a certificate for ${host} that the gateway mints; each request is read, decided again and shown`,
            clear,
          ];
    case 'relay':
      return [`TLS: the origin's own certificate, unread, when the server name is ${host}, else a close`, clear];
    case 'tcp':
      return [
        'CONNECT: anything is forwarded unread, whatever the first bytes are',
        'HTTP without one: forwarded, read and shown',
      ];
    case 'deny':
      return [
        `CONNECT, or a request without one: 403 with ${ruleHeader}: ${outcomeName(decision.verdict, decision.rule)}`,
        'a connection that is intercepted already: the same 403 to its next request',
        'redirected by the system: a reset, since there is nobody to tell before a certificate is shown',
      ];
    default:
      return decision.verdict satisfies never;
  }
}

function authorityOf({ host, port }: PolicyQuestion): string {
  const text = hostText(host);
  return host.kind === 'ip' && isIpv6(host.address) ? `[${text}]:${port}` : `${text}:${port}`;
}

function hostText(host: ValidName): string {
  return host.kind === 'dns' ? host.host : host.address.text;
}
