// What a policy is made of. Rules are written once and decided twice, by `decide` and by Envoy from the generated
// filter; a property test holds the two equal.
import type { Cidr, HostPattern, ValidName } from '../names/name-types.ts';

/** intercept: decrypt and forward; relay: forward TLS unread; tcp: forward anything unread; deny: refuse */
export type Verdict = 'intercept' | 'relay' | 'tcp' | 'deny';

export type RuleTarget =
  { readonly kind: 'host'; readonly pattern: HostPattern } | { readonly kind: 'cidr'; readonly cidr: Cidr };

export type PolicyRule = {
  /** shown in records and metrics; rules of one name are one rule of a file, written once for each of its targets */
  readonly name: string;
  readonly target: RuleTarget;
  readonly verdict: Verdict;
  /** empty: any port */
  readonly ports: readonly number[];
  /** verified URI SANs; empty: any actor */
  readonly actors: readonly string[];
};

export type Policy = { readonly rules: readonly PolicyRule[]; readonly defaultVerdict: Verdict };

export type PolicyQuestion = {
  readonly host: ValidName;
  readonly port: number;
  readonly actor?: string;
};

/** `rule` is `default` when no rule decided */
export type Decision = { readonly verdict: Verdict; readonly rule: string };
