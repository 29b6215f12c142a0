// The bench's figures as one markdown table. Pure.
import { contenderNames, contenderNotes } from './contenders.ts';
import type { ContenderName } from './contenders.ts';
import { baseline, isMet, median, ratioTo } from './measurement.ts';
import type { Bound, Figure, Ratio } from './measurement.ts';

export type Verdict = 'pass' | 'miss' | 'not measured';

export function renderTable(figures: readonly Figure[]): string {
  const shown = contenderNames.filter((name) => figures.some(({ rounds }) => rounds.some((round) => name in round)));
  const header = ['', ...shown, `leafgate / ${baseline} [range]`, 'expected', ''];
  const rows = figures.map((figure) => [
    `${figure.title}, ${figure.unit}`,
    ...shown.map((name) => formatValue(valueOf(figure, name))),
    formatRatio(ratioTo(figure, baseline)),
    formatBound(figure.bound),
    verdictOf(figure) ?? '',
  ]);
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(header),
    line(header.map(() => '---')),
    ...rows.map(line),
    '',
    ...shown.map((name) => `- ${name}: ${contenderNotes[name]}`),
  ].join('\n');
}

/** undefined where nothing is expected */
export function verdictOf(figure: Figure): Verdict | undefined {
  if (figure.bound === undefined) return undefined;
  const ratio = ratioTo(figure, baseline);
  if (ratio === undefined) return 'not measured';
  return isMet(figure.bound, ratio) ? 'pass' : 'miss';
}

function valueOf(figure: Figure, name: ContenderName): number | undefined {
  const values = figure.rounds.flatMap((round) => round[name] ?? []);
  return values.length === 0 ? undefined : median(values);
}

function formatValue(value: number | undefined): string {
  if (value === undefined) return '–';
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function formatRatio(ratio: Ratio | undefined): string {
  if (ratio === undefined) return '–';
  return `${ratio.median.toFixed(2)} [${ratio.least.toFixed(2)}–${ratio.most.toFixed(2)}]`;
}

function formatBound(bound: Bound | undefined): string {
  if (bound === undefined) return '';
  return bound.kind === 'at-least' ? `≥ ${bound.ratio}` : `≤ ${bound.ratio}`;
}
