// Whether the first projection of a volume is done, may still come, or has failed, and with which words. Pure.
import type { LeafgateError } from '../errors.ts';
import type { SourceProblem } from './judge-volume.ts';
import type { VolumeState } from './keep-volumes.ts';
import { projectionErrors } from './projection-errors.ts';

export type StartVerdict =
  | { readonly kind: 'wait' }
  | { readonly kind: 'done' }
  /** what an earlier run wrote stays in use, although it cannot be renewed */
  | { readonly kind: 'kept' }
  | { readonly kind: 'failed'; readonly problems: readonly [LeafgateError, ...LeafgateError[]] };

export type StartTerms = {
  /** false: whoever asked is about to start the actor, and wants files of now or none */
  readonly mayKeep: boolean;
  /** what passes by itself has had its time */
  readonly isLate: boolean;
};

export function judgeStart({ name, sources }: VolumeState, { mayKeep, isLate }: StartTerms): StartVerdict {
  const waiting = sources.filter((state) => state.kind === 'waiting');
  if (waiting.length > 0 && !isLate) return { kind: 'wait' };
  const refused = sources.filter((state) => state.kind === 'kept' || state.kind === 'lacking');
  if (refused.length > 0 && !isLate && refused.every(({ problem }) => mayPass(problem))) return { kind: 'wait' };
  const problems = [
    ...refused.map(({ source, problem }) => problemError(name, source.path, problem)),
    ...waiting.map(({ source }) => unansweredError(name, source.path, source.names)),
  ];
  const [first, ...more] = problems;
  if (first === undefined) return { kind: 'done' };
  const isKept =
    refused.every(({ kind, problem }) => kind === 'kept' && problem.cause !== 'unknown-name') &&
    waiting.every(({ isThere }) => isThere);
  return mayKeep && isKept ? { kind: 'kept' } : { kind: 'failed', problems: [first, ...more] };
}

/** what only a person can mend, of bundles and of files */
const lasting: ReadonlySet<string> = new Set([
  'bundle-access-missing',
  'bundle-no-api',
  'volume-entry-unsafe',
  'volume-path-refused',
  'volume-owner-refused',
  'volume-file-empty',
  'nss-tool-missing',
  'nss-folder-shared',
  'nss-database-unsafe',
]);

/** of what the system says no with to a file: a right, a read-only disk, something in the way (`unknown`: our own words) */
const lastingReasons: ReadonlySet<unknown> = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOTDIR',
  'ELOOP',
  'ENAMETOOLONG',
  'unknown',
]);

/** an API server that restarts, a disk that was full: everything else is for a person */
function mayPass({ cause, error }: SourceProblem): boolean {
  if (lasting.has(error.code)) return false;
  return cause === 'unavailable' || (cause === 'not-written' && !lastingReasons.has(error.fields['reason']));
}

const codes = {
  'unknown-name': 'trust-name-unknown',
  'missing-object': 'trust-object-missing',
  unavailable: 'trust-backend-unavailable',
  unusable: 'trust-content-unusable',
  'not-written': 'trust-file-not-written',
} as const;

/** names volume, path, bundle and the innermost cause */
export function problemError(volume: string, path: string, { cause, bundle, error }: SourceProblem): LeafgateError {
  const fields = { volume, path, bundle, detail: error.message, hint: error.remedy };
  return projectionErrors.error(codes[cause], fields, error);
}

function unansweredError(volume: string, path: string, names: readonly string[]): LeafgateError {
  const hint = 'start again once it answers';
  const fields = { volume, path, bundle: names.join(', '), detail: 'it has not answered yet', hint };
  return projectionErrors.error('trust-backend-unavailable', fields);
}
