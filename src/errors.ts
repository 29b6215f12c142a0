// One error class for the whole product. Each room declares its slice (code, sentence, remedy, exit code) beside its
// code with `errorSlice`; `cli/error-table.ts` assembles the slices, and a test holds that codes are unique and documented.
// Match on `code`, never on text. Must not know any room.
import { systemCode, systemReason } from './system-error.ts';

/** Exit codes of the command line; docs/errors.md lists them. */
export const exitCodes = {
  ok: 0,
  /** something failed at run time */
  failed: 1,
  /** a flag, a file or a setting is wrong: the person can mend it */
  usage: 2,
  /** something the machine lacks (Envoy, a free port, a permission) */
  environment: 3,
  /** a check ran and its answer is no (probe, verify) */
  negative: 4,
  /** what a shell returns for a command that is no program, and for one that is not there (POSIX sh, 2.8.2) */
  notExecutable: 126,
  notFound: 127,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** `message` starts lower case and has no full stop; `{field}` in it and in `remedy` is replaced by the field's value. */
export type ErrorSpec = { readonly message: string; readonly remedy: string; readonly exitCode: ExitCode };

export type ErrorFields = { readonly [field: string]: string | number | boolean };

export type ErrorSlice<Code extends string> = {
  readonly specs: { readonly [code in Code]: ErrorSpec };
  readonly error: (code: Code, fields?: ErrorFields, cause?: unknown) => LeafgateError;
};

export class LeafgateError extends Error {
  override readonly name = 'LeafgateError';
  readonly code: string;
  readonly remedy: string;
  readonly exitCode: ExitCode;
  readonly fields: ErrorFields;
  /** every problem found, when a check reports all at once; empty for a single problem */
  readonly problems: readonly LeafgateError[];

  constructor(code: string, spec: ErrorSpec, details: ErrorDetails = {}) {
    const fields = details.fields ?? {};
    super(fill(spec.message, fields), details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.remedy = fill(spec.remedy, fields);
    this.exitCode = spec.exitCode;
    this.fields = fields;
    this.problems = details.problems ?? [];
  }

  /** Turns anything thrown into a LeafgateError; what is not ours becomes `internal`, or `disk-full`, its cause kept for the log only. */
  static from(thrown: unknown): LeafgateError {
    if (thrown instanceof LeafgateError) return thrown;
    const code = noRoom.has(systemCode(thrown) ?? '') ? 'disk-full' : 'internal';
    return coreErrors.error(code, { detail: internalDetail(thrown) }, thrown);
  }

  /** One error that carries all problems found at once, with the exit code that they share; a single one is returned as it is. */
  static all(problems: readonly [LeafgateError, ...LeafgateError[]]): LeafgateError {
    const [first] = problems;
    if (problems.length === 1) return first;
    const spec = coreErrors.specs['several-problems'];
    const isSameCode = problems.every(({ exitCode }) => exitCode === first.exitCode);
    return new LeafgateError('several-problems', isSameCode ? { ...spec, exitCode: first.exitCode } : spec, {
      fields: { count: problems.length },
      problems,
    });
  }
}

type ErrorDetails = {
  readonly fields?: ErrorFields;
  readonly cause?: unknown;
  readonly problems?: readonly LeafgateError[];
};

const noRoom: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

/** what the system said, and of what where it tells */
function internalDetail(thrown: unknown): string {
  const reason = systemReason(thrown);
  const path =
    thrown instanceof Error && systemCode(thrown) !== undefined && 'path' in thrown ? thrown.path : undefined;
  return typeof path === 'string' ? `${path}: ${reason}` : reason;
}

/** Every problem that something thrown tells of; what is not ours is one. */
export function problemsOf(thrown: unknown): readonly LeafgateError[] {
  const error = LeafgateError.from(thrown);
  return error.problems.length > 0 ? error.problems : [error];
}

export function errorSlice<Code extends string>(specs: { readonly [code in Code]: ErrorSpec }): ErrorSlice<Code> {
  return {
    specs,
    error: (code, fields, cause) =>
      new LeafgateError(code, specs[code], { ...(fields === undefined ? {} : { fields }), cause }),
  };
}

export const coreErrors = errorSlice({
  internal: {
    message: 'an unexpected failure: {detail}',
    remedy: 'run again with --verbose and report the output',
    exitCode: exitCodes.failed,
  },
  'disk-full': {
    message: 'a file cannot be written: {detail}',
    remedy: 'make room there, or give a folder on another disk',
    exitCode: exitCodes.environment,
  },
  'several-problems': {
    message: '{count} problems',
    remedy: 'mend each of the problems listed',
    exitCode: exitCodes.usage,
  },
});

/** longest field value shown in a message; what is longer is cut, since clients choose some of them */
const maxShownChars = 300;

/** replaces each `{field}` that is given, by text that is safe to print */
export function fill(template: string, fields: ErrorFields): string {
  return template.replace(/\{([a-zA-Z]+)\}/g, (whole, field: string) => {
    const value = fields[field];
    return value === undefined ? whole : printable(String(value));
  });
}

/** control characters, line separators, and what is invisible or turns the direction of text (Unicode TR 36, 2.6) */
const unprintable = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** whether a text has what `printable` would escape */
export function unprintableIn(text: string): boolean {
  return text.search(unprintable) !== -1;
}

/** Makes text safe for one line of a terminal or a log: control characters escaped, length capped. */
export function printable(text: string, maxChars = maxShownChars): string {
  const escaped = text.replace(unprintable, (char) => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return escaped.length > maxChars ? `${escaped.slice(0, maxChars)}…` : escaped;
}
