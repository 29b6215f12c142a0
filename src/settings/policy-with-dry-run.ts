// A policy and the rules that are only tried beside it: the keys `default`, `rules` and `dryRun`, alike in a file and in an
// EgressGateway. Pure.
import type { Policy } from '../policy/policy-types.ts';
import type { PolicyNode } from './policy-node.ts';
import type { PolicyReader } from './policy-reader.ts';
import { readPolicyPart, type RuleTerms } from './policy-rules.ts';

export const policyKeys = ['default', 'rules', 'dryRun'] as const;
const dryRunKeys = ['default', 'rules'];

export type PolicyWithDryRun = {
  readonly policy: Policy | undefined;
  /** only counts: what these rules would have decided */
  readonly dryRun: Policy | undefined;
  /** the line at which each rule begins, by its name */
  readonly lines: ReadonlyMap<string, number>;
  readonly dryRunLines: ReadonlyMap<string, number>;
};

export function readPolicyWithDryRun(
  fields: ReadonlyMap<string, PolicyNode>,
  at: number,
  reader: PolicyReader,
  { place, isOwn }: RuleTerms,
): PolicyWithDryRun {
  const { policy, lines } = readPolicyPart(fields, at, reader, { place, isOwn });
  const dryRunNode = fields.get('dryRun');
  const dryRunFields = dryRunNode && reader.map(dryRunNode, 'dryRun', dryRunKeys);
  const dryRun = dryRunFields && readPolicyPart(dryRunFields, dryRunNode.at, reader, { place: 'dryRun', isOwn });
  return { policy, lines, dryRun: dryRun?.policy, dryRunLines: dryRun?.lines ?? new Map<string, number>() };
}
