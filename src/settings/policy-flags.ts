// Rules from flags: `--allow`, `--deny`, `--relay` and `--tcp HOST[:PORT]`, the shorthand for a policy file. Each is a rule
// of its own, called like its host. Pure.
import { hostPatternText } from '../names/host-pattern.ts';
import { cidrText } from '../names/cidr.ts';
import type { Policy, PolicyRule, RuleTarget, Verdict } from '../policy/policy-types.ts';
import { isReservedHost, parseRuleTarget } from './policy-targets.ts';
import { policyFileErrors } from './policy-file-errors.ts';
import { reservedRuleNames } from './policy-rules.ts';
import type { GivenText } from './read-settings.ts';
import { settingsErrors } from './settings-errors.ts';

/** a rule and the words that made it */
export type FlagRule = { readonly rule: PolicyRule; readonly given: GivenText };

const bracketed = /^\[([^\]]+)\](?::(\d{1,5}))?$/;
const withPort = /^([^:]+):(\d{1,5})$/;
const maxPort = 65_535;

/** `host:port` or `[host]:port`; the port is undefined where there is none, and `wrong` outside 1 to 65535 */
export function splitPort(text: string): { readonly host: string; readonly port: number | 'wrong' | undefined } {
  const [, host = text, portText] = bracketed.exec(text) ?? withPort.exec(text) ?? [];
  const port = portText === undefined ? undefined : Number(portText);
  return { host, port: port === undefined || (port >= 1 && port <= maxPort) ? port : 'wrong' };
}

/**
 * `example.com`, `*.example.com:443`, `192.0.2.1:22`, `10.0.0.0/8`, `[2001:db8::1]:443` or `2001:db8::1`.
 * @throws setting-malformed, policy-host-reserved
 */
export function parseRuleFlag(given: GivenText, verdict: Verdict): FlagRule {
  const { host, port } = splitPort(given.text);
  const target = parseRuleTarget(host);
  if (target === undefined || port === 'wrong') {
    const expected = 'a host name, *.suffix, an address or a range, with or without a port';
    const example = 'api.example.com, *.example.com:443 or [2001:db8::1]:443';
    throw settingsErrors.error('setting-malformed', { setting: given.setting, value: given.text, expected, example });
  }
  if (target.kind === 'host' && isReservedHost(target.pattern)) {
    throw policyFileErrors.error('policy-host-reserved', { at: given.setting, value: given.text });
  }
  const ports = port === undefined ? [] : [port];
  return { rule: { name: nameOf(target, ports), target, verdict, ports, actors: [] }, given };
}

/**
 * What is said for a port comes before what is said for all ports of the same host. With any `intercept` the default is to
 * deny, else to intercept. @throws policy-flags-contradict
 */
export function policyOfFlags(given: readonly FlagRule[]): Policy {
  const byName = new Map<string, FlagRule>();
  for (const flag of given) {
    const known = byName.get(flag.rule.name);
    if (known !== undefined && known.rule.verdict !== flag.rule.verdict) {
      const [one, other] = [known.given, flag.given].map(({ setting, text }) => `${setting} ${text}`);
      throw settingsErrors.error('policy-flags-contradict', { one: one ?? '', other: other ?? '' });
    }
    byName.set(flag.rule.name, flag);
  }
  const rules = [...byName.values()].map(({ rule }) => rule);
  const isAllowing = rules.some(({ verdict }) => verdict === 'intercept');
  return {
    rules: [...rules.filter(({ ports }) => ports.length > 0), ...rules.filter(({ ports }) => ports.length === 0)],
    defaultVerdict: isAllowing ? 'deny' : 'intercept',
  };
}

function nameOf(target: RuleTarget, ports: readonly number[]): string {
  const text = target.kind === 'cidr' ? cidrText(target.cidr) : hostPatternText(target.pattern);
  const [port] = ports;
  if (port !== undefined) return `${text.includes(':') ? `[${text}]` : text}:${port}`;
  return reservedRuleNames.has(text) ? `${text}.` : text;
}
