// Keeps the files of volumes as their bundles are: joins a resolver, which knows backends, with a writer for each volume,
// which knows none. What cannot be had or written leaves the last good file, and is tried again. Must not know where
// volumes come from.
import { millis, seconds, type Clock, type Timer } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { backoffMs } from '../kube/backoff.ts';
import type { TrustVolume } from '../settings/trust-volume.ts';
import { judgeVolume, unwrittenState, type HeldFile, type SourceState } from './judge-volume.ts';
import type { BundleResolver } from './resolve-bundles.ts';
import { entryKindOf } from './volume-manifest.ts';
import { createVolumeTurns, type VolumeTurns } from './volume-turns.ts';
import type { VolumeWriter } from './write-volume.ts';

export type VolumeState = {
  readonly name: string;
  /** in the order of the volume */
  readonly sources: readonly SourceState[];
};

export type KeeperEvents = {
  /** after each look at a volume; `written` counts the files that changed */
  judged(state: VolumeState, written: number): void;
  removed(name: string): void;
  /** nothing could be decided, or what was written before cannot be taken away yet; tried again */
  failed(name: string, error: LeafgateError): void;
};

export type KeeperOptions = {
  readonly clock: Clock;
  /** in [0, 1) */
  readonly random: () => number;
  readonly openWriter: (name: string) => VolumeWriter;
  readonly events: KeeperEvents;
};

export interface VolumeKeeper {
  /** Volumes are looked at once there is a resolver, and all again when it tells of a change. Closes the earlier one. */
  use(resolver: BundleResolver): Promise<void>;
  /** a new volume, or another content of a known one */
  put(name: string, volume: TrustVolume): void;
  /** takes away what was written for it, also by an earlier run */
  remove(name: string): void;
  /** ends what is being written whole */
  close(): Promise<void>;
}

/** a writer holds three descriptors, and four threads do the waiting for the disk: more would only wait in line */
const parallel = 16;

/** whoever may write to the folder can take a file away: nothing tells of it, so that it is looked for (0.5 ms a volume) */
const checkEvery = seconds(30);

export function createVolumeKeeper(options: KeeperOptions): VolumeKeeper {
  return new Keeper(options);
}

type Kept = {
  readonly name: string;
  readonly writer: VolumeWriter;
  /** undefined: it is to go */
  wanted: TrustVolume | undefined;
  /** undefined: nobody has looked yet */
  held: Map<string, HeldFile> | undefined;
  /** whether what is held is to be looked for again */
  isUnchecked: boolean;
  /** whose other files have been taken away */
  cleanedFor: TrustVolume | undefined;
  failures: number;
  again: Timer | undefined;
};

class Keeper implements VolumeKeeper {
  readonly #options: KeeperOptions;
  readonly #volumes = new Map<string, Kept>();
  readonly #turns: VolumeTurns;
  #resolver: BundleResolver | undefined;
  #isClosed = false;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#turns = createVolumeTurns({ parallel, take: (name) => this.#take(name) });
  }

  async use(resolver: BundleResolver): Promise<void> {
    const earlier = this.#resolver;
    this.#resolver = resolver;
    const changed = (): void => {
      for (const name of this.#volumes.keys()) this.#turns.add(name);
    };
    resolver.onChange(changed);
    changed();
    await earlier?.close();
  }

  put(name: string, volume: TrustVolume): void {
    const kept = this.#volumes.get(name) ?? this.#open(name);
    kept.wanted = volume;
    this.#lookNow(kept);
  }

  remove(name: string): void {
    const kept = this.#volumes.get(name) ?? this.#open(name);
    kept.wanted = undefined;
    this.#lookNow(kept);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { again } of this.#volumes.values()) again?.cancel();
    await this.#turns.close();
    await this.#resolver?.close();
  }

  #open(name: string): Kept {
    const kept: Kept = {
      ...{ name, writer: this.#options.openWriter(name), wanted: undefined, held: undefined, isUnchecked: false },
      ...{ cleanedFor: undefined, failures: 0, again: undefined },
    };
    this.#volumes.set(name, kept);
    return kept;
  }

  #lookNow(kept: Kept): void {
    kept.failures = 0;
    this.#turns.add(kept.name, 'first');
  }

  async #take(name: string): Promise<void> {
    const kept = this.#volumes.get(name);
    if (kept === undefined) return;
    kept.again?.cancel();
    const isDone = await this.#work(kept, kept.wanted).catch((thrown: unknown) => {
      this.#options.events.failed(name, LeafgateError.from(thrown));
      return false;
    });
    if (this.#isClosed) return;
    if (isDone) this.#checkLater(kept);
    else this.#tryAgain(kept);
  }

  /** not all volumes of a node at once */
  #checkLater(kept: Kept): void {
    kept.failures = 0;
    if (kept.wanted === undefined) return;
    const delay = millis(checkEvery * (0.75 + 0.5 * this.#options.random()));
    kept.again = this.#options.clock.after(delay, () => {
      kept.isUnchecked = true;
      this.#turns.add(kept.name);
    });
  }

  #tryAgain(kept: Kept): void {
    kept.failures += 1;
    const delay = backoffMs(kept.failures, this.#options.random);
    kept.again = this.#options.clock.after(delay, () => this.#turns.add(kept.name));
  }

  /** False where something is to be tried again although no bundle changes. */
  async #work(kept: Kept, volume: TrustVolume | undefined): Promise<boolean> {
    if (volume === undefined) return this.#takeAway(kept);
    const resolver = this.#resolver;
    if (resolver === undefined) return true;
    const { held, trouble } = await lookInto(kept, volume);
    const { writes, states, isWhole } = judgeVolume(volume, (names) => resolver.resolve(names), held);
    // a folder that cannot be looked into is for the write to tell of
    if (trouble !== undefined && writes.length === 0) {
      if (states.some(({ kind }) => kind === 'waiting')) return false;
      throw trouble;
    }
    const outcomes = writes.length === 0 ? [] : await kept.writer.write(writes);
    const sources = states.map((state) => settledState(state, outcomes, held));
    for (const [index, { kind }] of outcomes.entries()) {
      const file = writes[index];
      if (file !== undefined && kind !== 'failed') held.set(file.path, { form: file.form, text: file.pemBundle });
    }
    const written = outcomes.filter(({ kind }) => kind === 'written').length;
    if (kept.wanted === volume) this.#options.events.judged({ name: kept.name, sources }, written);
    if (trouble !== undefined || outcomes.some(({ kind }) => kind === 'failed')) return false;
    if (isWhole) await clean(kept, volume, held);
    return true;
  }

  async #takeAway(kept: Kept): Promise<boolean> {
    await kept.writer.remove();
    if (kept.wanted !== undefined) {
      // it came back meanwhile, and has a turn of its own
      kept.held = undefined;
      kept.cleanedFor = undefined;
      return true;
    }
    this.#volumes.delete(kept.name);
    this.#options.events.removed(kept.name);
    return true;
  }
}

type WriteOutcome = Awaited<ReturnType<VolumeWriter['write']>>[number];

/** a file that was not written may still be there as it was */
function settledState(
  state: SourceState,
  outcomes: readonly WriteOutcome[],
  held: ReadonlyMap<string, HeldFile>,
): SourceState {
  const { path } = state.source;
  const outcome = outcomes.find((one) => one.path === path);
  return outcome?.kind === 'failed' ? unwrittenState(state, held.get(path), outcome.error) : state;
}

/** What a volume no longer asks for goes once all that it asks for is there. */
async function clean(kept: Kept, volume: TrustVolume, held: Map<string, HeldFile>): Promise<void> {
  if (kept.cleanedFor === volume) return;
  const paths = volume.sources.map(({ path }) => path);
  await kept.writer.removeOthers(paths);
  for (const path of held.keys()) if (!paths.includes(path)) held.delete(path);
  kept.cleanedFor = volume;
}

type LookedInto = { readonly held: Map<string, HeldFile>; readonly trouble?: LeafgateError };

/** What is there is remembered once it is known. */
async function lookInto(kept: Kept, volume: TrustVolume): Promise<LookedInto> {
  try {
    const held = (kept.held ??= await heldFiles(kept.writer, volume));
    if (kept.isUnchecked) await forgetMissing(kept.writer, held);
    kept.isUnchecked = false;
    return { held };
  } catch (thrown) {
    return { held: new Map(), trouble: LeafgateError.from(thrown) };
  }
}

async function forgetMissing(writer: VolumeWriter, held: Map<string, HeldFile>): Promise<void> {
  const there = await writer.held();
  for (const [path, { form }] of held) if (there.get(path) !== entryKindOf(form)) held.delete(path);
}

async function heldFiles(writer: VolumeWriter, { sources }: TrustVolume): Promise<Map<string, HeldFile>> {
  await writer.sweep();
  const there = await writer.held();
  const ours = sources.filter(({ path, form }) => there.get(path) === entryKindOf(form));
  return new Map(ours.map(({ path, form }) => [path, { form, text: undefined }]));
}
