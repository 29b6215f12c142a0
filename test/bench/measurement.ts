// What one figure is: a value for each contender in each round. Rounds are interleaved, so ratios are taken inside a round
// and only then summed up; absolute values of a shared machine say little. Pure.
import type { ContenderName } from './contenders.ts';

/** one round: contender to value */
export type Round = { readonly [name in ContenderName]?: number };

export type Figure = {
  readonly title: string;
  readonly unit: string;
  readonly rounds: readonly Round[];
  /** what issue 3 expects of our ratio to the baseline */
  readonly bound?: Bound;
};

export type Bound = { readonly kind: 'at-least' | 'at-most'; readonly ratio: number };

export type Ratio = { readonly median: number; readonly least: number; readonly most: number };

export const baseline: ContenderName = 'go-shared-key';

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** ours over the other's, round by round; undefined when no round has both */
export function ratioTo(figure: Figure, other: ContenderName): Ratio | undefined {
  const ratios = figure.rounds.flatMap((round) => {
    const [ours, theirs] = [round.leafgate, round[other]];
    return ours === undefined || theirs === undefined || theirs === 0 ? [] : [ours / theirs];
  });
  if (ratios.length === 0) return undefined;
  return { median: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) };
}

export function isMet(bound: Bound, ratio: Ratio): boolean {
  return bound.kind === 'at-least' ? ratio.median >= bound.ratio : ratio.median <= bound.ratio;
}
