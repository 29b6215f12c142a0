// Whether the trust files of a start are there, what is wrong although they are, and how each stands, for a kubelet, a person
// and a program. What an actor asks for that it may not have is its own affair: it does not make a node's agent unready.
import type { DurationMs } from '../clock.ts';
import type { Health } from '../observe/health-server.ts';
import { problemError } from '../projection/judge-start.ts';
import type { SourceState } from '../projection/judge-volume.ts';
import type { VolumeState } from '../projection/keep-volumes.ts';
import type { VolumeBook } from '../projection/tell-volumes.ts';

export type ProjectHealth = { readonly ready: () => Health; readonly status: () => object };

export type HealthSources = {
  readonly book: Pick<VolumeBook, 'state' | 'states'>;
  /** the volumes that there were at the start; undefined: they are not known yet */
  readonly initial: () => ReadonlySet<string> | undefined;
  /** of volume files and the list of bundles, and what else is to be known */
  readonly troubles: () => readonly string[];
  /** of what is known of the cluster's bundles; undefined where none comes from there */
  readonly viewAge: () => DurationMs | undefined;
};

/** a page for people: the metrics have the counts, the status has them all */
const shownReasons = 20;

export function createProjectHealth({ book, initial, troubles, viewAge }: HealthSources): ProjectHealth {
  // what fails later is told and keeps its last good files: to call the actors unready would take them from their users
  let wasReady = false;
  return {
    ready: () => {
      const names = initial();
      if (names === undefined) return { isOk: false, reasons: ['the volumes are being looked at'] };
      const open = wasReady ? [] : [...names].filter((name) => isOpen(book.state(name)));
      wasReady ||= open.length === 0;
      const waiting = open.flatMap((name) => waitingLines(name, book.state(name)));
      const problems = [...book.states()].flatMap(({ name, sources }) =>
        sources.flatMap((one) => problemLine(name, one)),
      );
      return { isOk: open.length === 0, reasons: shortened([...waiting, ...troubles(), ...problems]) };
    },
    status: () => {
      const age = viewAge();
      return {
        volumes: Object.fromEntries([...book.states()].map(({ name, sources }) => [name, filesStatus(sources)])),
        ...(age === undefined ? {} : { bundleViewAgeSeconds: Math.round(age / 1000) }),
        troubles: troubles(),
      };
    },
  };
}

function isOpen(state: VolumeState | undefined): boolean {
  return state === undefined || (state.sources.some(({ isDone }) => !isDone) && !asksWrongly(state));
}

function asksWrongly({ sources }: VolumeState): boolean {
  return sources.some((state) => 'problem' in state && state.problem.cause === 'unknown-name');
}

function waitingLines(name: string, state: VolumeState | undefined): readonly string[] {
  if (state === undefined) return [`${name}: not looked at yet`];
  const waiting = state.sources.filter(({ kind }) => kind === 'waiting');
  return waiting.map(({ source }) => `${name}: ${source.path} waits for ${source.names.join(', ')}`);
}

function problemLine(name: string, state: SourceState): readonly string[] {
  if (!('problem' in state)) return [];
  const outcome = state.kind === 'kept' ? ' (the last good file stays)' : '';
  return [`${problemError(name, state.source.path, state.problem).message}${outcome}`];
}

function shortened(lines: readonly string[]): readonly string[] {
  if (lines.length <= shownReasons) return lines;
  return [...lines.slice(0, shownReasons), `and ${lines.length - shownReasons} more`];
}

function filesStatus(sources: readonly SourceState[]): object {
  return Object.fromEntries(sources.map((state) => [state.source.path, fileStatus(state)]));
}

function fileStatus(state: SourceState): object {
  const { kind, isDone } = state;
  if (!('problem' in state)) return { state: kind, isDone };
  const { cause, bundle, error } = state.problem;
  return { state: kind, isDone, cause, bundle, code: error.code, detail: error.message };
}
