// Rules and questions written shortly, for the tests of this room.
import { parseCidr } from '../../../src/names/cidr.ts';
import { parseHostPattern } from '../../../src/names/host-pattern.ts';
import type { ValidName } from '../../../src/names/name-types.ts';
import { askedNameFromText, parseAskedName } from '../../../src/names/parse-asked-name.ts';
import type { Policy, PolicyRule, RuleTarget, Verdict } from '../../../src/policy/policy-types.ts';

type Narrowing = { readonly ports?: readonly number[]; readonly actors?: readonly string[] };

/** `target` is a pattern, or a range when it has a slash; the rule is called `name` or like its target */
export function rule(
  target: string,
  verdict: Verdict,
  { name, ...more }: Narrowing & { name?: string } = {},
): PolicyRule {
  return { name: name ?? target, target: ruleTarget(target), verdict, ports: [], actors: [], ...more };
}

export function policy(defaultVerdict: Verdict, ...rules: readonly PolicyRule[]): Policy {
  return { rules, defaultVerdict };
}

export function host(text: string): ValidName {
  const parsed = parseAskedName(askedNameFromText(text));
  if (parsed.kind === 'refused') throw new Error(`no name: ${text}`);
  return parsed;
}

function ruleTarget(text: string): RuleTarget {
  const cidr = text.includes('/') ? parseCidr(text) : undefined;
  if (cidr !== undefined) return { kind: 'cidr', cidr };
  const pattern = parseHostPattern(text);
  if (pattern === undefined) throw new Error(`no pattern: ${text}`);
  return { kind: 'host', pattern };
}
