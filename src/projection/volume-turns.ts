// Whose turn it is among thousands of volumes: each is worked on once at a time, those that are new before those that are
// looked at again, and a change that comes meanwhile makes one more turn. Must not know what is done in a turn.

export type TurnTaking = {
  /** volumes worked on at the same time */
  readonly parallel: number;
  /** must not reject */
  readonly take: (name: string) => Promise<void>;
};

export interface VolumeTurns {
  /** `first`: before all that were added without it */
  add(name: string, order?: 'first'): void;
  /** starts nothing more; settles when what runs has ended */
  close(): Promise<void>;
}

export function createVolumeTurns(options: TurnTaking): VolumeTurns {
  return new Turns(options);
}

class Turns implements VolumeTurns {
  readonly #options: TurnTaking;
  readonly #first = new Set<string>();
  readonly #later = new Set<string>();
  /** those that run, and whether they were added meanwhile */
  readonly #running = new Map<string, { isWantedAgain: boolean }>();
  readonly #idle = Promise.withResolvers<void>();
  #isClosed = false;

  constructor(options: TurnTaking) {
    this.#options = options;
  }

  add(name: string, order?: 'first'): void {
    if (this.#isClosed) return;
    const running = this.#running.get(name);
    if (running !== undefined) {
      running.isWantedAgain = true;
      return;
    }
    if (order === 'first') this.#later.delete(name);
    if (!this.#first.has(name)) (order === 'first' ? this.#first : this.#later).add(name);
    this.#startWhatMay();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#first.clear();
    this.#later.clear();
    this.#endWhenIdle();
    return this.#idle.promise;
  }

  #startWhatMay(): void {
    while (this.#running.size < this.#options.parallel) {
      const name = takeOne(this.#first) ?? takeOne(this.#later);
      if (name === undefined) return;
      void this.#run(name);
    }
  }

  async #run(name: string): Promise<void> {
    const state = { isWantedAgain: false };
    this.#running.set(name, state);
    await this.#options.take(name);
    this.#running.delete(name);
    if (state.isWantedAgain && !this.#isClosed) this.#later.add(name);
    this.#startWhatMay();
    this.#endWhenIdle();
  }

  #endWhenIdle(): void {
    if (this.#isClosed && this.#running.size === 0) this.#idle.resolve();
  }
}

/** the one that waits longest */
function takeOne(names: Set<string>): string | undefined {
  for (const name of names) {
    names.delete(name);
    return name;
  }
  return undefined;
}
