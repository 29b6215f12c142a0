// What is to be done for one volume: which files are to be written, and how each of its sources stands, from what the
// bundles are now and what was written before. A file that is there is never taken away for want of a good bundle. Pure.
import type { LeafgateError } from '../errors.ts';
import type { TrustForm, TrustSource, TrustVolume } from '../settings/trust-volume.ts';
import type { Pem } from '../x509/certificate-types.ts';
import type { BundleCause } from './judge-bundle.ts';
import type { ResolvedSource } from './resolve-bundles.ts';
import type { WantedFile } from './write-volume.ts';

/** why a file is not what its source asks for now */
export type SourceProblem = {
  readonly cause: BundleCause | 'not-written';
  /** the one of the source's names that the cause lies in; all of them where the file could not be written */
  readonly bundle: string;
  readonly error: LeafgateError;
};

/** What is known of the file at a path. */
export type HeldFile = {
  readonly form: TrustForm;
  /** what this run wrote there, or found to be there; undefined: a whole file of an earlier run */
  readonly text: Pem | undefined;
};

/** `isDone`: the file is of this run, even if its bundle has turned bad since */
export type SourceState = { readonly source: TrustSource; readonly isDone: boolean } & (
  | { readonly kind: 'current' }
  /** its bundles are not known yet; `isThere`: a file of an earlier run, or of this one, is */
  | { readonly kind: 'waiting'; readonly isThere: boolean }
  /** its bundles are good, those of another new file of the volume are not yet */
  | { readonly kind: 'held-back' }
  /** the last good file stays */
  | { readonly kind: 'kept'; readonly problem: SourceProblem }
  /** there is no file */
  | { readonly kind: 'lacking'; readonly problem: SourceProblem }
);

export type VolumeJudgement = {
  readonly writes: readonly WantedFile[];
  /** once `writes` are done */
  readonly states: readonly SourceState[];
  /** each source has its file then */
  readonly isWhole: boolean;
};

type Standing = {
  readonly source: TrustSource;
  readonly resolution: ResolvedSource;
  readonly held: HeldFile | undefined;
};

export function judgeVolume(
  volume: TrustVolume,
  resolve: (names: readonly string[]) => ResolvedSource,
  heldFiles: ReadonlyMap<string, HeldFile>,
): VolumeJudgement {
  const standings = volume.sources.map((source): Standing => {
    const held = heldFiles.get(source.path);
    return { source, resolution: resolve(source.names), held: held?.form === source.form ? held : undefined };
  });
  const isWhole = standings.every(({ resolution, held }) => resolution.kind === 'ready' || held !== undefined);
  return {
    isWhole,
    // an actor that is about to start must not find a part of its files
    writes: standings.flatMap((standing) => (isWhole || standing.held !== undefined ? writesOf(standing) : [])),
    states: standings.map((standing) => stateOf(standing, isWhole)),
  };
}

function writesOf({ source, resolution, held }: Standing): readonly WantedFile[] {
  if (resolution.kind !== 'ready' || held?.text === resolution.pemBundle) return [];
  return [{ path: source.path, form: source.form, pemBundle: resolution.pemBundle }];
}

function stateOf({ source, resolution, held }: Standing, isWhole: boolean): SourceState {
  const isDone = held?.text !== undefined;
  switch (resolution.kind) {
    case 'ready':
      return isWhole || held !== undefined
        ? { source, kind: 'current', isDone: true }
        : { source, kind: 'held-back', isDone };
    case 'pending':
      return { source, kind: 'waiting', isDone, isThere: held !== undefined };
    case 'refused':
      return { source, kind: held === undefined ? 'lacking' : 'kept', isDone, problem: resolution.problem };
    default:
      return resolution satisfies never;
  }
}

/** The state of a source whose file could not be written. */
export function unwrittenState(state: SourceState, held: HeldFile | undefined, error: LeafgateError): SourceState {
  const { source } = state;
  const problem = { cause: 'not-written', bundle: source.names.join(', '), error } as const;
  const isThere = held?.form === source.form;
  return { source, kind: isThere ? 'kept' : 'lacking', isDone: isThere && held.text !== undefined, problem };
}
