// The rules of a policy. A rule has one name, one verdict and one or more hosts; here it becomes one rule a host, all
// of the same name, which is how policies are decided.
import { isActorUri } from './actor-uri.ts';
import { defaultRuleName } from '../policy/policy-judge.ts';
import { groupRules } from '../policy/rule-groups.ts';
import type { Policy, PolicyRule, RuleTarget, Verdict } from '../policy/policy-types.ts';
import { nearestWord } from './nearest-word.ts';
import type { PolicyNode } from './policy-node.ts';
import type { PolicyReader } from './policy-reader.ts';
import { isReservedHost, meantTarget, parseRuleTarget } from './policy-targets.ts';

const verdicts: readonly Verdict[] = ['intercept', 'relay', 'tcp', 'deny'];
/** what other gateways call the same */
const synonyms: Readonly<Record<string, Verdict>> = {
  passthrough: 'relay',
  allow: 'intercept',
  mitm: 'intercept',
  block: 'deny',
  reject: 'deny',
  drop: 'deny',
  opaque: 'tcp',
};

const ruleKeys = ['name', 'hosts', 'ports', 'actors', 'verdict'];
const neededKeys = [
  ['name', 'give it one, as `name: model-apis`: records and refusals show it'],
  ['hosts', 'list its hosts, as `hosts: [api.example.com]`'],
  ['verdict', `state one of ${verdicts.join(', ')}`],
] as const;

const namePattern = /^[a-z0-9][a-z0-9._-]{0,63}$/;
/** decisions that no rule of a person takes show as these */
export const reservedRuleNames: ReadonlySet<string> = new Set([defaultRuleName, 'self-check', 'always']);

/** each is a label value of a metric, and an action in Envoy */
const maxRules = 10_000;
/** hosts of all rules together: Envoy holds them in one tree, flat in cost (measured up to 10,000) */
const maxHosts = 50_000;
/** tried one after the other, by Envoy at each request */
const maxRulesOfHost = 256;
const maxPorts = 64;
const maxActors = 1_000;
const maxPort = 65_535;

export type PolicyPart = {
  readonly policy: Policy | undefined;
  /** where each rule begins, by its name */
  readonly lines: ReadonlyMap<string, number>;
};

/** `isOwn`: the file was written by leafgate itself, where a rule may be called like its pattern */
export type RuleTerms = { readonly place: string; readonly isOwn: boolean };

/** The keys `default` and `rules` of a part of the file. */
export function readPolicyPart(
  fields: ReadonlyMap<string, PolicyNode>,
  at: number,
  reader: PolicyReader,
  { place, isOwn }: RuleTerms,
): PolicyPart {
  const lines = new Map<string, number>();
  const byDefault = fields.get('default');
  if (byDefault === undefined) {
    const hint = 'state what becomes of hosts that no rule names, as `default: deny`';
    reader.problem('policy-key-missing', at, { place, key: 'default', hint });
  }
  const defaultVerdict = byDefault === undefined ? undefined : readVerdict(byDefault, 'default', reader);
  const given = fields.get('rules');
  const rules = given === undefined || isEmptyList(given) ? [] : readRules(given, { reader, lines, isOwn });
  if (defaultVerdict === undefined) return { policy: undefined, lines };
  const policy = { rules, defaultVerdict };
  for (const [host, { rules: ofHost }] of groupRules(policy)) {
    if (ofHost.length <= maxRulesOfHost) continue;
    const hint = 'list the ports and actors of one verdict in one rule';
    reader.problem('policy-too-many', at, { most: maxRulesOfHost, things: `rules for ${host}`, hint });
  }
  return { policy, lines };
}

type Reading = { readonly reader: PolicyReader; readonly lines: Map<string, number>; readonly isOwn: boolean };

function readRules(node: PolicyNode, reading: Reading): readonly PolicyRule[] {
  const { reader } = reading;
  const items = reader.list(node, 'rules', { most: maxRules, example: '[{name: …, hosts: […], verdict: …}]' });
  const rules: PolicyRule[] = [];
  for (const [index, item] of items.entries()) {
    const read = readRule(item, index, reading);
    if (rules.length + read.length > maxHosts) {
      reader.tooMany(item.at, { most: maxHosts, things: 'hosts' });
      break;
    }
    rules.push(...read);
  }
  return rules;
}

function readRule(node: PolicyNode, index: number, { reader, lines, isOwn }: Reading): readonly PolicyRule[] {
  const numbered = `rule ${index + 1}`;
  const fields = reader.map(node, numbered, ruleKeys);
  if (fields === undefined) return [];
  const nameNode = fields.get('name');
  const name = nameNode === undefined ? undefined : readName(nameNode, { reader, what: 'rule', taken: lines, isOwn });
  if (name !== undefined) lines.set(name, reader.lineOf(node.at));
  const place = name === undefined ? numbered : `rule ${name}`;
  for (const [key, hint] of neededKeys) {
    if (!fields.has(key)) reader.problem('policy-key-missing', node.at, { place, key, hint });
  }
  const [hosts, verdictNode] = [fields.get('hosts'), fields.get('verdict')];
  const verdict = verdictNode === undefined ? undefined : readVerdict(verdictNode, 'verdict', reader);
  const ports = optional(fields.get('ports'), (given) => readPorts(given, reader));
  const actors = optional(fields.get('actors'), (given) => readActors(given, reader));
  const targets = hosts === undefined ? [] : readHosts(hosts, reader);
  if (name === undefined || verdict === undefined) return [];
  return targets.map((target) => ({ name, target, verdict, ports, actors }));
}

function optional<Value>(node: PolicyNode | undefined, read: (node: PolicyNode) => readonly Value[]): readonly Value[] {
  return node === undefined ? [] : read(node);
}

function isEmptyList(node: PolicyNode): boolean {
  return node.kind === 'list' && node.items.length === 0;
}

type NameTerms = {
  readonly reader: PolicyReader;
  readonly what: string;
  readonly taken: ReadonlyMap<string, unknown>;
  readonly isOwn?: boolean;
};

/** A name that nothing else of its kind has. */
export function readName(node: PolicyNode, { reader, what, taken, isOwn = false }: NameTerms): string | undefined {
  const meant = { expected: 'a name of small letters, digits, dots, hyphens and underscores', example: 'model-apis' };
  const name = reader.text(node, 'name', meant);
  if (name === undefined) return undefined;
  if (!isOwn && !namePattern.test(name)) {
    reader.wrong(node, 'name', meant);
    return undefined;
  }
  const reason = reservedRuleNames.has(name) ? 'reserved' : taken.has(name) ? 'taken by an earlier one' : undefined;
  if (reason === undefined) return name;
  reader.problem('policy-name-taken', node.at, { what, name, reason });
  return undefined;
}

function readVerdict(node: PolicyNode, key: string, reader: PolicyReader): Verdict | undefined {
  const value = node.kind === 'value' ? node.value : undefined;
  const verdict = verdicts.find((known) => known === value);
  if (verdict !== undefined) return verdict;
  const given = typeof value === 'string' ? value : '';
  const meant = (Object.hasOwn(synonyms, given) ? synonyms[given] : undefined) ?? nearestWord(given, verdicts);
  reader.wrong(node, key, { expected: `one of ${verdicts.join(', ')}`, example: `${key}: ${meant ?? 'deny'}` });
  return undefined;
}

function readPorts(node: PolicyNode, reader: PolicyReader): readonly number[] {
  const items = reader.list(node, 'ports', { most: maxPorts, example: '[443], or leave it out for any port' });
  const ports = items.flatMap((item) => {
    const port = item.kind === 'value' && /^[1-9]\d{0,4}$/.test(item.shown) ? item.value : undefined;
    if (typeof port === 'number' && port <= maxPort) return [port];
    reader.wrong(item, 'port', { expected: 'a number from 1 to 65535', example: 'ports: [443, 8443]' });
    return [];
  });
  return [...new Set(ports)];
}

function readActors(node: PolicyNode, reader: PolicyReader): readonly string[] {
  const items = reader.list(node, 'actors', {
    most: maxActors,
    example: '["spiffe://…"], or leave it out for any actor',
  });
  const actors = items.flatMap((item) => {
    const meant = { expected: "the URI of a client's certificate", example: '"spiffe://cluster.local/ns/a/sa/b"' };
    const actor = reader.text(item, 'actor', meant);
    if (actor === undefined) return [];
    if (isActorUri(actor)) return [actor];
    reader.wrong(item, 'actor', meant);
    return [];
  });
  return [...new Set(actors)];
}

function readHosts(node: PolicyNode, reader: PolicyReader): readonly RuleTarget[] {
  return reader.list(node, 'hosts', { most: maxHosts, example: '[api.example.com]' }).flatMap((item) => {
    const expected = 'a host name, *.suffix, an address or a range';
    const text = reader.text(item, 'host', { expected, example: 'api.example.com or "*.example.com"' });
    if (text === undefined) return [];
    const target = parseRuleTarget(text);
    if (target === undefined) {
      reader.wrong(item, 'host', { expected, example: meantTarget(text) });
      return [];
    }
    if (target.kind === 'host' && isReservedHost(target.pattern)) {
      reader.problem('policy-host-reserved', item.at, { value: text });
      return [];
    }
    return [target];
  });
}
