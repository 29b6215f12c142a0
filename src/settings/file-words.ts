// How a kind of file that people write names its problems, so that one reader of YAML serves policies and others. Must not
// know any kind.
import type { ErrorFields, LeafgateError } from '../errors.ts';

/** what can be wrong with any file; each kind has an error of its own for each */
export type FileProblemCode =
  | 'file-too-large'
  | 'file-not-text'
  | 'syntax'
  | 'key-unknown'
  | 'key-twice'
  | 'value-wrong'
  | 'too-many'
  | 'more-problems';

export type FileWords = {
  readonly error: (code: FileProblemCode, fields: ErrorFields) => LeafgateError;
  readonly maxBytes: number;
  /** the page that shows such a file */
  readonly guide: string;
  /** what to do about an empty file, and about a list that is too long */
  readonly emptyHint: string;
  readonly tooManyHint: string;
};
