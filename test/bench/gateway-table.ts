// The gateway's figures as one markdown table. Where a figure is a time, what counts is what a proxy adds to a direct
// connection of the same round. Pure.
import { proxyNames, proxyNotes, type ProxyName } from './gateway-contenders.ts';
import { median } from './measurement.ts';

type ProxyRound = { readonly [name in ProxyName]?: number };

export type ProxyFigure = {
  readonly title: string;
  readonly unit: string;
  /** ratios are of what is added to the direct connection */
  readonly isAdded: boolean;
  readonly rounds: readonly ProxyRound[];
};

const rivals = ['goproxy', 'mitmproxy'] as const;

export function renderProxyTable(figures: readonly ProxyFigure[]): string {
  const header = ['', ...proxyNames, 'leafgate adds', ...rivals.map((rival) => `leafgate / ${rival} [range]`)];
  const rows = figures.map((figure) => [
    `${figure.title}, ${figure.unit}`,
    ...proxyNames.map((name) => shown(valuesOf(figure, name))),
    figure.isAdded ? shown(addedBy(figure, 'leafgate')) : '',
    ...rivals.map((rival) => shownRatio(figure, rival)),
  ]);
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    ...[line(header), line(header.map(() => '---')), ...rows.map(line), ''],
    ...proxyNames.map((name) => `- ${name}: ${proxyNotes[name]}`),
    '- ratios of times are of what each adds to the direct connection',
  ].join('\n');
}

function valuesOf(figure: ProxyFigure, name: ProxyName): readonly number[] {
  return figure.rounds.flatMap((round) => round[name] ?? []);
}

function addedBy(figure: ProxyFigure, name: ProxyName): readonly number[] {
  return figure.rounds.flatMap((round) => added(round, name) ?? []);
}

function added(round: ProxyRound, name: ProxyName): number | undefined {
  const [own, direct] = [round[name], round.direct];
  return own === undefined || direct === undefined ? undefined : own - direct;
}

function shownRatio(figure: ProxyFigure, rival: ProxyName): string {
  const cost = (round: ProxyRound, name: ProxyName): number | undefined =>
    figure.isAdded ? added(round, name) : round[name];
  const ratios = figure.rounds.flatMap((round) => {
    const [ours, theirs] = [cost(round, 'leafgate'), cost(round, rival)];
    return ours === undefined || theirs === undefined || theirs <= 0 ? [] : [ours / theirs];
  });
  if (ratios.length === 0) return '–';
  return `${median(ratios).toFixed(2)} [${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}]`;
}

export function shown(values: readonly number[]): string {
  if (values.length === 0) return '–';
  const value = median(values);
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}
