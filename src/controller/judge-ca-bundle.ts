// Judges a key of a ConfigMap that holds CA certificates, strictly: every PEM block is a certificate that can be read, and
// what is not is named by its place and never passed over. Pure; what stood in a private key's block is in no word.
import type { EpochMs } from '../clock.ts';
import { problemsOf, type LeafgateError } from '../errors.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { examineRoots } from '../x509/examine-credential.ts';
import type { ReasonOf } from './condition-table.ts';
import type { ConfigMapContent, Judgement, ObjectName, Observed } from './controller-types.ts';
import { judge, sayFirst } from './judge.ts';

type CaBundleCondition = 'OriginCABundleResolved' | 'ClientCABundleResolved';
type Reason = ReasonOf<CaBundleCondition>;

export type CaBundleTerms = {
  readonly condition: CaBundleCondition;
  /** of the ConfigMap, there or not */
  readonly configMap: ObjectName;
  readonly key: string;
  readonly now: EpochMs;
};

export type CaBundleJudgement = {
  readonly judgement: Judgement<Reason>;
  /** in the order of the text; empty unless the judgement is True */
  readonly certificates: readonly Certificate[];
};

export function judgeCaBundle(observed: Observed<ConfigMapContent>, terms: CaBundleTerms): CaBundleJudgement {
  const { configMap, key } = terms;
  const place = `ConfigMap ${configMap.namespace}/${configMap.name}`;
  const no = (reason: Reason, message: string): CaBundleJudgement => verdict(terms, reason, message);
  switch (observed.kind) {
    case 'absent':
      return no('ConfigMapNotFound', `${place} does not exist: create it with the key ${key}`);
    case 'unavailable':
      return no('ConfigMapUnavailable', `${place} cannot be read just now: ${observed.detail}; it is tried again`);
    case 'found': {
      const text = textUnder(observed.value, key);
      if (text === undefined) return no('KeyNotFound', `${place} has no key ${key}; it has ${keysOf(observed.value)}`);
      return judgeText(text, `${place}, key ${key}`, terms);
    }
    default:
      return observed satisfies never;
  }
}

function judgeText(text: Buffer, source: string, terms: CaBundleTerms): CaBundleJudgement {
  try {
    const certificates = examineRoots({ text, source }, terms.now);
    const count = certificates.length === 1 ? 'one certificate' : `${certificates.length} certificates`;
    return verdict(terms, 'Resolved', `${source} has ${count}`, certificates);
  } catch (thrown) {
    const said = problemsOf(thrown).map((problem) => sayWithBlock(problem, text));
    return verdict(terms, 'InvalidCABundle', said.join('; '));
  }
}

/** People count blocks: the lines of base64 look all alike. */
function sayWithBlock({ message, remedy, fields }: LeafgateError, text: Buffer): string {
  const line = fields['line'];
  if (typeof line !== 'number') return `${message}: ${remedy}`;
  const before = text.toString('latin1').split('\n', line);
  const block = before.filter((content) => content.startsWith('-----BEGIN ')).length;
  return block === 0 ? `${message}: ${remedy}` : `${message} (block ${block}): ${remedy}`;
}

function textUnder({ data, binaryData = {} }: ConfigMapContent, key: string): Buffer | undefined {
  const [text, base64] = [
    Object.hasOwn(data, key) ? data[key] : undefined,
    Object.hasOwn(binaryData, key) ? binaryData[key] : undefined,
  ];
  if (text !== undefined) return Buffer.from(text, 'utf8');
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64');
}

/** a ConfigMap may have thousands */
const maxListed = 10;

function keysOf({ data, binaryData = {} }: ConfigMapContent): string {
  const keys = [...Object.keys(data), ...Object.keys(binaryData)].toSorted();
  return keys.length === 0 ? 'no key at all' : sayFirst(keys, maxListed);
}

function verdict(
  { condition }: CaBundleTerms,
  reason: Reason,
  message: string,
  certificates: readonly Certificate[] = [],
): CaBundleJudgement {
  return { judgement: judge(condition, reason, message), certificates };
}
