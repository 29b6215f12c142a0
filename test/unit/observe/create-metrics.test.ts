import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createMetrics } from '../../../src/observe/create-metrics.ts';
import { metricsMarkdown } from '../../../src/observe/metrics-markdown.ts';
import { metricsTable, type MetricSpec } from '../../../src/observe/metrics-table.ts';

const table: readonly (readonly [string, MetricSpec])[] = Object.entries(metricsTable);

async function linesOf(metrics: ReturnType<typeof createMetrics>): Promise<readonly string[]> {
  return (await metrics.render()).split('\n');
}

describe('the metrics', () => {
  test('every label value of the table is there from the start, at 0', async () => {
    const lines = await linesOf(createMetrics({ withProcessMetrics: false }));
    for (const [name, { kind, labels }] of table) {
      if (kind === 'histogram') continue;
      const pairs = Object.entries(labels).map(([label, values]) =>
        'open' in values ? [] : values.map((value) => `${label}="${value}"`),
      );
      const sets = pairs.reduce<string[][]>(
        (known, some) => known.flatMap((set) => some.map((one) => [...set, one])),
        [[]],
      );
      for (const set of sets) expect(lines).toContain(set.length === 0 ? `${name} 0` : `${name}{${set.join(',')}} 0`);
    }
  });

  test('a counter counts, a gauge is set, a histogram observes', async () => {
    const metrics = createMetrics({ withProcessMetrics: false });
    metrics.count('leafgate_leaves_minted_total');
    metrics.count('leafgate_leaves_minted_total');
    metrics.count('leafgate_names_refused_total', { reason: 'policy' });
    metrics.set('leafgate_sds_streams', 3, { kind: 'ads' });
    metrics.observe('leafgate_sds_answer_seconds', 0.002);
    const lines = await linesOf(metrics);
    expect(lines).toContain('leafgate_leaves_minted_total 2');
    expect(lines).toContain('leafgate_names_refused_total{reason="policy"} 1');
    expect(lines).toContain('leafgate_sds_streams{kind="ads"} 3');
    expect(lines).toContain('leafgate_sds_answer_seconds_bucket{le="0.003"} 1');
    expect(lines).toContain('leafgate_sds_answer_seconds_bucket{le="0.001"} 0');
  });

  test('what is counted elsewhere is taken over as a total, and a counter that began anew there is no step back', async () => {
    const metrics = createMetrics({ withProcessMetrics: false });
    for (const total of [2, 5, 5, 1, 3]) metrics.setTotal('leafgate_log_lines_lost_total', total);
    expect(await linesOf(metrics)).toContain('leafgate_log_lines_lost_total 7');
  });

  test('a label value outside the table does not compile, nor does a label left out', () => {
    const metrics = createMetrics({ withProcessMetrics: false });
    // @ts-expect-error not a reason
    metrics.count('leafgate_names_refused_total', { reason: 'example.com' });
    // @ts-expect-error the label is missing
    expect(() => metrics.count('leafgate_names_refused_total')).not.toThrow();
    // @ts-expect-error a gauge does not count
    expect(() => metrics.count('leafgate_envoy_up')).toThrow('is no counter');
  });

  test('gauges are read just before a scrape, and one that cannot be read spoils no other', async () => {
    const metrics = createMetrics({ withProcessMetrics: false });
    metrics.beforeScrape(() => Promise.reject(new Error('Envoy is gone')));
    metrics.beforeScrape(() => {
      throw new Error('so is this');
    });
    metrics.beforeScrape(async () => metrics.set('leafgate_envoy_connections', 7));
    expect(await linesOf(metrics)).toContain('leafgate_envoy_connections 7');
  });

  test('two sets of metrics in one process do not meet', async () => {
    const [one, other] = [createMetrics(), createMetrics()];
    one.count('leafgate_leaves_minted_total');
    expect(await linesOf(other)).toContain('leafgate_leaves_minted_total 0');
  });

  test('the event loop is watched', async () => {
    expect(await createMetrics().render()).toContain('leafgate_nodejs_eventloop_lag_p99_seconds');
  });
});

describe('the table of metrics', () => {
  test.each(table)(
    '%s is named as Prometheus wants it and no label can hold a name that a client chose',
    (name, spec) => {
      expect(name).toMatch(/^leafgate_[a-z][a-z0-9_]*$/);
      expect(name.endsWith('_total')).toBe(spec.kind === 'counter');
      expect(Object.keys(spec.labels)).not.toContain('host');
      for (const values of Object.values(spec.labels)) {
        // what is open has a reason; what is closed is short: the longest are the reasons of records
        if ('open' in values) expect(values.open).toMatch(/of the policy/);
        else expect(values.length).toBeLessThanOrEqual(30);
      }
    },
  );

  test('docs/metrics.md lists exactly the table', () => {
    expect(readFileSync('docs/metrics.md', 'utf8')).toBe(metricsMarkdown());
  });
});
