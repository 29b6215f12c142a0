// A policy file, YAML or JSON: from its bytes to rules, dry-run rules and credentials for origins, or to everything that is
// wrong with it at once, each with line and column. Pure; how the file came here is the edges' affair.
import type { LeafgateError } from '../errors.ts';
import type { Policy } from '../policy/policy-types.ts';
import type { OriginCredential } from './gateway-spec.ts';
import { readOrigins } from './policy-origins.ts';
import type { PolicyNode } from './policy-node.ts';
import { PolicyReader } from './policy-reader.ts';
import { readPolicyText } from './policy-text.ts';
import { policyKeys, readPolicyWithDryRun } from './policy-with-dry-run.ts';
import { readYaml } from './policy-yaml.ts';

export type PolicyFile = {
  readonly policy: Policy;
  /** only counts: what these rules would have decided */
  readonly dryRun: Policy | undefined;
  readonly origins: readonly OriginCredential[];
  /** the line at which each rule begins, by its name */
  readonly lines: ReadonlyMap<string, number>;
  readonly dryRunLines: ReadonlyMap<string, number>;
};

export type PolicyReading =
  | { readonly kind: 'read'; readonly file: PolicyFile }
  | { readonly kind: 'refused'; readonly problems: readonly [LeafgateError, ...LeafgateError[]] };

export type PolicyFileTerms = {
  /** what the file is called in messages */
  readonly source: string;
  /** absolute folder that relative paths in the file start from */
  readonly baseDir: string;
  /** written by leafgate itself, where a rule may be called like its pattern; default false */
  readonly isOwn?: boolean;
};

const fileKeys = [...policyKeys, 'origins'];

/** Never throws; at most 4 MiB, 10,000 rules and 50,000 hosts. */
export function parsePolicyFile(bytes: Uint8Array, terms: PolicyFileTerms): PolicyReading {
  const verdict = readPolicyText(bytes, terms.source);
  if (verdict.kind === 'refused') return { kind: 'refused', problems: [verdict.problem] };
  const { root, problems: syntaxProblems } = readYaml(verdict.text);
  const reader = new PolicyReader(verdict.text);
  for (const problem of syntaxProblems) reader.keep(problem);
  const file = root === undefined ? undefined : readFile(root, reader, terms);
  const [first, ...more] = reader.problems();
  if (first !== undefined) return { kind: 'refused', problems: [first, ...more] };
  if (file === undefined) throw new Error('a policy file was lost');
  return { kind: 'read', file };
}

function readFile(
  root: PolicyNode,
  reader: PolicyReader,
  { baseDir, isOwn = false }: PolicyFileTerms,
): PolicyFile | undefined {
  const place = 'the policy file';
  const fields = reader.map(root, place, fileKeys);
  if (fields === undefined) return undefined;
  const { policy, ...rest } = readPolicyWithDryRun(fields, root.at, reader, { place, isOwn });
  const originsNode = fields.get('origins');
  const origins = originsNode === undefined ? [] : readOrigins(originsNode, reader, baseDir);
  return policy === undefined ? undefined : { policy, ...rest, origins };
}
