// Remembers how each volume stands, for health and status, and tells of changes in log and metrics: what fails for one
// actor by its name, what fails for all of them by its bundle, once. Must not know how files come to be.
import type { Clock } from '../clock.ts';
import type { LeafgateError } from '../errors.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { Log, LogFields } from '../observe/log.ts';
import { createSeldom, lostField, type Seldom } from '../observe/seldom.ts';
import type { SourceProblem, SourceState } from './judge-volume.ts';
import type { KeeperEvents, VolumeState } from './keep-volumes.ts';

export interface VolumeBook extends KeeperEvents {
  state(name: string): VolumeState | undefined;
  states(): Iterable<VolumeState>;
  /** after each look at a volume, until what it gives is called */
  onChange(listener: () => void): () => void;
}

export type BookOptions = {
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'count' | 'set'>;
};

export function openVolumeBook(options: BookOptions): VolumeBook {
  return new Book(options);
}

class Book implements VolumeBook {
  readonly #options: BookOptions;
  readonly #states = new Map<string, VolumeState>();
  readonly #kinds = new Tally();
  /** files that stay as they were, by bundle and code */
  readonly #kept = new Tally();
  readonly #seldom: Seldom;
  readonly #listeners = new Set<() => void>();

  constructor(options: BookOptions) {
    this.#options = options;
    this.#seldom = createSeldom(options.clock);
  }

  state(name: string): VolumeState | undefined {
    return this.#states.get(name);
  }

  states(): Iterable<VolumeState> {
    return this.#states.values();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  judged(state: VolumeState, written: number): void {
    const { name, sources } = state;
    const before = new Map(this.#states.get(name)?.sources.map((source) => [source.source.path, source]));
    this.#states.set(name, state);
    for (const now of sources) {
      const { path } = now.source;
      this.#change(name, before.get(path), now);
      before.delete(path);
    }
    for (const gone of before.values()) this.#change(name, gone, undefined);
    if (written > 0) this.#tellWritten(name, written);
    this.#seen();
  }

  removed(name: string): void {
    const state = this.#states.get(name);
    this.#states.delete(name);
    for (const source of state?.sources ?? []) this.#change(name, source, undefined);
    if (state !== undefined) this.#options.log.info('the trust files of a volume were taken away', { volume: name });
    this.#seen();
  }

  failed(name: string, { code, message, remedy }: LeafgateError): void {
    const fields = { volume: name, code, detail: message, remedy };
    this.#seldom('failed', (lost) =>
      this.#options.log.warn('a volume cannot be kept for now', { ...fields, ...lostField(lost) }),
    );
  }

  #change(volume: string, before: SourceState | undefined, now: SourceState | undefined): void {
    this.#kinds.move(before?.kind, now?.kind);
    const problem = problemOf(now);
    if (problem !== undefined && !isSame(problem, problemOf(before))) this.#noteProblem(volume, problem, now);
    this.#moveKept(volume, before, now);
  }

  #noteProblem(volume: string, problem: SourceProblem, now: SourceState | undefined): void {
    const { metrics, log } = this.#options;
    metrics.count('leafgate_projection_refusals_total', { cause: problem.cause });
    if (now?.kind !== 'lacking') return;
    log.warn('a trust file cannot be written', { volume, path: now.source.path, ...fieldsOf(problem) });
  }

  #moveKept(volume: string, before: SourceState | undefined, now: SourceState | undefined): void {
    const { log } = this.#options;
    const [was, is] = [before, now].map((state) => (state?.kind === 'kept' ? state.problem : undefined));
    const news = this.#kept.move(was && keyOf(was), is && keyOf(is));
    if (is !== undefined && news.begun) {
      const fields = { volume, path: now?.source.path, ...fieldsOf(is) };
      log.warn('the last good trust files of a bundle stay', fields);
    }
    if (was !== undefined && news.ended && now?.kind === 'current')
      log.info('the trust files of a bundle follow it again', { bundle: was.bundle });
  }

  #tellWritten(volume: string, files: number): void {
    const { log, metrics, clock } = this.#options;
    for (let count = 0; count < files; count += 1) metrics.count('leafgate_projection_files_written_total');
    metrics.set('leafgate_projection_last_write_seconds', clock.now() / 1000);
    this.#seldom('written', (lost) => log.info('trust files were written', { volume, files, ...lostField(lost) }));
  }

  #seen(): void {
    const { metrics } = this.#options;
    metrics.set('leafgate_projection_volumes', this.#states.size);
    for (const state of ['current', 'waiting', 'held-back', 'kept', 'lacking'] as const)
      metrics.set('leafgate_projection_sources', this.#kinds.count(state), { state });
    for (const listener of this.#listeners) listener();
  }
}

function problemOf(state: SourceState | undefined): SourceProblem | undefined {
  return state?.kind === 'kept' || state?.kind === 'lacking' ? state.problem : undefined;
}

/** What the message says may differ from try to try. */
function keyOf({ bundle, error }: SourceProblem): string {
  return `${bundle} ${error.code}`;
}

function isSame(one: SourceProblem, other: SourceProblem | undefined): boolean {
  return other !== undefined && keyOf(one) === keyOf(other);
}

function fieldsOf({ bundle, cause, error }: SourceProblem): LogFields {
  return { bundle, reason: cause, code: error.code, detail: error.message, remedy: error.remedy };
}

/** How many there are of each. */
class Tally {
  readonly #counts = new Map<string, number>();

  /** whether `to` has its first one now, and `from` none any more */
  move(from: string | undefined, to: string | undefined): { readonly begun: boolean; readonly ended: boolean } {
    const begun = to !== undefined && !this.#counts.has(to);
    if (to !== undefined) this.#counts.set(to, this.count(to) + 1);
    if (from === undefined) return { begun, ended: false };
    const left = this.count(from) - 1;
    if (left > 0) this.#counts.set(from, left);
    else this.#counts.delete(from);
    return { begun, ended: left <= 0 };
  }

  count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }
}
