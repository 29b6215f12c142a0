import { describe, expect, test } from 'vitest';
import { renderProxyTable } from '../../bench/gateway-table.ts';
import { isMet, median, ratioTo } from '../../bench/measurement.ts';
import type { Figure } from '../../bench/measurement.ts';
import { renderTable, verdictOf } from '../../bench/render-table.ts';

const figure: Figure = {
  title: 'mints',
  unit: 'per s',
  rounds: [
    { leafgate: 300, 'go-shared-key': 100 },
    { leafgate: 150, 'go-shared-key': 100 },
    { leafgate: 400, 'go-shared-key': 200 },
  ],
  bound: { kind: 'at-least', ratio: 1.5 },
};

describe('figures of the bench', () => {
  test('are ratios inside each round, not of medians over rounds', () => {
    expect(ratioTo(figure, 'go-shared-key')).toEqual({ median: 2, least: 1.5, most: 3 });
    expect(ratioTo(figure, 'go-hand-der')).toBeUndefined();
  });

  test.each([
    [[3, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
  ])('have the median of %j', (values, expected) => expect(median(values)).toBe(expected));

  test('are judged by the median, in the direction of their bound', () => {
    const ratio = { median: 2, least: 1, most: 3 };
    expect(isMet({ kind: 'at-least', ratio: 2 }, ratio)).toBe(true);
    expect(isMet({ kind: 'at-least', ratio: 2.1 }, ratio)).toBe(false);
    expect(isMet({ kind: 'at-most', ratio: 1.9 }, ratio)).toBe(false);
  });

  test('that were not measured are said to be so, and never pass', () => {
    expect(verdictOf({ ...figure, rounds: [{ leafgate: 1 }] })).toBe('not measured');
    expect(verdictOf({ title: 'no bound', unit: '', rounds: figure.rounds })).toBeUndefined();
  });

  test('stand in one row with value, ratio, range and verdict', () => {
    const rows = renderTable([figure]).split('\n');
    expect(rows[2]).toBe('| mints, per s | 300 | 100 | 2.00 [1.50–3.00] | ≥ 1.5 | pass |');
  });
});

describe('figures of the gateway', () => {
  const rounds = [
    { direct: 1, leafgate: 3, goproxy: 2, mitmproxy: 11 },
    { direct: 2, leafgate: 4, goproxy: 6, mitmproxy: 22 },
  ];

  test('compare times by what each adds to the direct connection of the same round', () => {
    const row = renderProxyTable([{ title: 'request', unit: 'ms', isAdded: true, rounds }]).split('\n')[2];
    expect(row).toBe('| request, ms | 1.50 | 3.50 | – | 4.00 | 16.5 | 2.00 | 1.25 [0.50–2.00] | 0.15 [0.10–0.20] |');
  });

  test('compare everything else as it is', () => {
    const row = renderProxyTable([{ title: 'memory', unit: 'MB', isAdded: false, rounds }]).split('\n')[2];
    expect(row).toMatch(/\| 16\.5 \|  \| 1\.08 \[0\.67–1\.50\] \| 0\.23 \[0\.18–0\.27\] \|$/);
  });

  test('of a rival that adds nothing measurable give no ratio', () => {
    const faster = [{ direct: 2, leafgate: 3, goproxy: 1 }];
    const table = renderProxyTable([{ title: 'request', unit: 'ms', isAdded: true, rounds: faster }]);
    expect(table.split('\n')[2]).toBe('| request, ms | 2.00 | 3.00 | – | 1.00 | – | 1.00 | – | – |');
  });
});
