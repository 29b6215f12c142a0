// What every section of the bench is given, and the interleaving that all share.
import type { TempFolder } from '../support/temp-folder.ts';
import { startContender } from './contenders.ts';
import type { BenchAuthority, Contender, ContenderName } from './contenders.ts';
import type { Round } from './measurement.ts';

export type BenchPlan = {
  readonly folder: TempFolder;
  readonly authority: BenchAuthority;
  readonly contenders: readonly ContenderName[];
  readonly rounds: number;
  /** 1 for the full run; smaller for a quick one */
  readonly scale: number;
  readonly progress: (sentence: string) => void;
};

export type Measurements<Key extends string> = { readonly [key in Key]: number };

/**
 * Measures every contender once a round, in an order that moves by one each round, each on a server of its own that is
 * stopped before the next starts. Returns, for each measurement, its rounds.
 */
export async function interleave<Key extends string>(
  plan: BenchPlan,
  label: string,
  measure: (contender: Contender) => Promise<Measurements<Key>>,
): Promise<ReadonlyMap<Key, readonly Round[]>> {
  const all = new Map<Key, Round[]>();
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const name of rotated(plan.contenders, round)) {
      plan.progress(`${label}: round ${round + 1} of ${plan.rounds}, ${name}`);
      const contender = await startContender(name, plan.folder, plan.authority);
      try {
        const measured = await measure(contender);
        for (const [key, value] of Object.entries(measured) as [Key, number][]) {
          const rounds = all.get(key) ?? [];
          rounds[round] = { ...rounds[round], [name]: value };
          all.set(key, rounds);
        }
      } finally {
        await contender.stop();
      }
    }
  }
  return all;
}

/** a count of the full run, scaled; never under 100, where figures mean nothing */
export function scaled(plan: BenchPlan, full: number): number {
  return Math.max(100, Math.round(full * plan.scale));
}

export function rotated<T>(items: readonly T[], by: number): readonly T[] {
  const start = by % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}
