// The two policies that a server without rules can have: these names, or any name.
import { hostPatternText } from '../names/host-pattern.ts';
import type { HostPattern } from '../names/name-types.ts';
import type { Policy } from './policy-types.ts';

/** Intercepts what a pattern names and denies the rest; each rule is called like its pattern. */
export function policyAllowingOnly(patterns: readonly HostPattern[]): Policy {
  const rules = patterns.map((pattern) => ({
    name: hostPatternText(pattern),
    target: { kind: 'host', pattern } as const,
    verdict: 'intercept' as const,
    ports: [],
    actors: [],
  }));
  return { rules, defaultVerdict: 'deny' };
}

export function policyAllowingAny(): Policy {
  return { rules: [], defaultVerdict: 'intercept' };
}
