// From the bytes of a file of trust delivery to its value, or to everything that is wrong with it at once, each with line
// and column. Must not know what the file says. Pure.
import type { LeafgateError } from '../errors.ts';
import { deliveryErrors } from './delivery-errors.ts';
import type { FileWords } from './file-words.ts';
import type { PolicyNode, PolicyPlaces } from './policy-node.ts';
import { PolicyReader } from './policy-reader.ts';
import { readPolicyText } from './policy-text.ts';
import { readYaml } from './policy-yaml.ts';

type Refusal = {
  readonly kind: 'refused';
  readonly problems: readonly [LeafgateError, ...LeafgateError[]];
};

export type DeliveryReading<Value> = { readonly kind: 'read'; readonly value: Value } | Refusal;

type ProblemCode = keyof typeof deliveryErrors.specs;

/** the parts of such a file, and a way to say what is wrong with one */
export type DeliveryReader = {
  readonly nodes: PolicyReader;
  readonly problem: (
    code: ProblemCode,
    node: Pick<PolicyNode, 'at'>,
    fields: Readonly<Record<string, string | number>>,
  ) => void;
};

export type DeliveryFile<Value> = {
  readonly bytes: Uint8Array;
  /** what the file is called in messages */
  readonly source: string;
  readonly words: FileWords;
  /** undefined only where a problem was kept */
  readonly read: (root: PolicyNode, reader: DeliveryReader) => Value | undefined;
};

export function readDeliveryFile<Value>({ bytes, source, words, read }: DeliveryFile<Value>): DeliveryReading<Value> {
  const verdict = readPolicyText(bytes, source, words);
  if (verdict.kind === 'refused') return { kind: 'refused', problems: [verdict.problem] };
  const { root, problems: syntaxProblems } = readYaml(verdict.text, words);
  const nodes = new PolicyReader(verdict.text, words);
  for (const problem of syntaxProblems) nodes.keep(problem);
  const value = root === undefined ? undefined : read(root, { nodes, problem: problemKeeper(nodes, verdict.text) });
  const [first, ...more] = nodes.problems();
  if (first !== undefined) return { kind: 'refused', problems: [first, ...more] };
  if (value === undefined) throw new Error('a file of trust delivery was lost');
  return { kind: 'read', value };
}

function problemKeeper(nodes: PolicyReader, places: PolicyPlaces): DeliveryReader['problem'] {
  return (code, { at }, fields) => nodes.keep(deliveryErrors.error(code, { at: places.placeOf(at), ...fields }));
}
