// What can be wrong with a policy file. Every problem says where it stands; `{at}` is `policy.yaml:4:12`, or the file
// alone where no place can be named.
import { errorSlice, exitCodes, type LeafgateError } from '../errors.ts';
import type { FileWords } from './file-words.ts';

const exitCode = exitCodes.usage;

export const policyFileErrors = errorSlice({
  'policy-file-unnamed': {
    message: 'the name of the policy file is empty',
    remedy: 'give the path of a file; look for a variable that is not set',
    exitCode,
  },
  'policy-file-unreadable': {
    message: 'the policy file {at} cannot be read: {reason}',
    remedy: 'give a file that this user can read',
    exitCode,
  },
  'policy-file-too-large': {
    message: 'the policy file {at} has more than {maxBytes} bytes',
    remedy: 'put the hosts of one verdict into one rule: a pattern then costs one line',
    exitCode,
  },
  'policy-file-too-complex': {
    message: 'the policy file {at} was not read to its end: {reason}',
    remedy: 'write it plainly, as docs/policy.md shows',
    exitCode,
  },
  'policy-file-not-text': {
    message: '{at}: {detail}',
    remedy: 'save it as plain UTF-8, without a byte order mark and without control characters',
    exitCode,
  },
  'policy-syntax': { message: '{at}: {detail}', remedy: '{hint}', exitCode },
  'policy-key-unknown': { message: '{at}: {key} is no key of {place}', remedy: '{hint}', exitCode },
  'policy-key-twice': { message: '{at}: the key {key} stands here for the second time', remedy: 'keep one', exitCode },
  'policy-key-missing': { message: '{at}: {place} has no {key}', remedy: '{hint}', exitCode },
  'policy-value-wrong': {
    message: '{at}: {key} is {value}, which is not {expected}',
    remedy: 'write it like {example}',
    exitCode,
  },
  'policy-name-taken': { message: '{at}: {what} {name} is {reason}', remedy: 'give it another name', exitCode },
  'policy-host-reserved': {
    message: '{at}: {value} belongs to the gateway itself and is always intercepted',
    remedy: 'leave it out',
    exitCode,
  },
  'policy-host-twice': {
    message: '{at}: {value} belongs to origin {other} already',
    remedy: 'leave it to one of them: a connection shows one certificate',
    exitCode,
  },
  'policy-too-many': { message: '{at}: there are more than {most} {things}', remedy: '{hint}', exitCode },
  'policy-more-problems': {
    message: '{at}: {count} more problems are not shown',
    remedy: 'mend those shown first',
    exitCode,
  },
});

export type PolicyFileErrorCode = keyof typeof policyFileErrors.specs;

/** four times what 10,000 rules of one host each take */
export const maxPolicyBytes = 4 * 1024 * 1024;

export const policyWords: FileWords = {
  error: (code, fields) => policyFileErrors.error(`policy-${code}`, fields),
  maxBytes: maxPolicyBytes,
  guide: 'docs/policy.md',
  emptyHint: 'state at least the default, as `default: deny`',
  tooManyHint: 'use suffixes and ranges, or merge rules',
};

export type PolicyPlace = { readonly line: number; readonly column: number };

/** Where in the file called `source` a problem stands, both counted from one; undefined where it names no place. */
export function placeIn({ fields }: LeafgateError, source: string): PolicyPlace | undefined {
  const at = String(fields['at'] ?? '');
  const [, line, column] = (at.startsWith(`${source}:`) && /^(\d+):(\d+)$/.exec(at.slice(source.length + 1))) || [];
  return line === undefined ? undefined : { line: Number(line), column: Number(column) };
}
