// What can be wrong with the two files of trust delivery: what an actor asks for, and what a deployment lets it have. `{at}`
// is `volume.yaml:4:12`, or the file alone where no place can be named.
import { errorSlice, exitCodes } from '../errors.ts';
import type { FileWords } from './file-words.ts';

const exitCode = exitCodes.usage;

export const deliveryErrors = errorSlice({
  'delivery-file-unreadable': {
    message: 'the file {at} cannot be read: {reason}',
    remedy: 'give a file that this user can read',
    exitCode,
  },
  'delivery-file-too-large': {
    message: 'the file {at} has more than {maxBytes} bytes',
    remedy: 'look whether it is the file that was meant; docs/trust-delivery.md shows one',
    exitCode,
  },
  'delivery-file-not-text': {
    message: '{at}: {detail}',
    remedy: 'save it as plain UTF-8, without a byte order mark and without control characters',
    exitCode,
  },
  'delivery-syntax': { message: '{at}: {detail}', remedy: '{hint}', exitCode },
  'delivery-key-unknown': { message: '{at}: {key} is no key of {place}', remedy: '{hint}', exitCode },
  'delivery-key-twice': {
    message: '{at}: the key {key} stands here for the second time',
    remedy: 'keep one',
    exitCode,
  },
  'delivery-key-missing': { message: '{at}: {place} has no {key}', remedy: '{hint}', exitCode },
  'delivery-keys-clash': { message: '{at}: {place} has {keys}', remedy: 'keep one of them', exitCode },
  'delivery-value-wrong': {
    message: '{at}: {key} is {value}, which is not {expected}',
    remedy: 'write it like {example}',
    exitCode,
  },
  'delivery-name-twice': { message: '{at}: the bundle {name} stands in names already', remedy: 'keep one', exitCode },
  'delivery-path-taken': {
    message: '{at}: the path {path} {reason}',
    remedy: 'give it another path: each source has a file of its own',
    exitCode,
  },
  'delivery-too-many': { message: '{at}: there are more than {most} {things}', remedy: '{hint}', exitCode },
  'delivery-more-problems': {
    message: '{at}: {count} more problems are not shown',
    remedy: 'mend those shown first',
    exitCode,
  },
});

export const volumeWords: FileWords = {
  error: (code, fields) => deliveryErrors.error(`delivery-${code}`, fields),
  // eight sources of eight long names have about 20 KB
  maxBytes: 64 * 1024,
  guide: 'docs/trust-delivery.md',
  emptyHint: 'list what is wanted under dataSources, or give another file',
  tooManyHint: 'leave out what is not needed; names joins several bundles into one file',
};

export const allowlistWords: FileWords = {
  ...volumeWords,
  maxBytes: 1024 * 1024,
  emptyHint: 'map each name that actors may ask for to its backend under bundles',
  tooManyHint: 'leave out what no actor asks for',
};
