// The metrics of one process, in a registry of their own, typed by the table: a metric or label value that is not in it
// does not compile. Every label value is there from the start, at 0. Must not know who counts.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import {
  metricsTable,
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelArguments,
  type MetricName,
  type MetricSpec,
} from './metrics-table.ts';

export interface Metrics {
  count<Name extends CounterName>(name: Name, ...labels: LabelArguments<Name>): void;
  /** takes over what is counted elsewhere; a total below the last one is a counter that began anew, and is kept out */
  setTotal<Name extends CounterName>(name: Name, total: number, ...labels: LabelArguments<Name>): void;
  set<Name extends GaugeName>(name: Name, value: number, ...labels: LabelArguments<Name>): void;
  observe<Name extends HistogramName>(name: Name, value: number, ...labels: LabelArguments<Name>): void;
  /** calls `read` before each scrape, to set gauges that are cheaper to read than to follow */
  beforeScrape(read: () => void | Promise<void>): void;
  /** Prometheus text format */
  render(): Promise<string>;
  readonly contentType: string;
}

export type CreateMetricsOptions = {
  /** Node's own process metrics, event-loop delay and heap among them; default true */
  readonly withProcessMetrics?: boolean;
};

export function createMetrics(options: CreateMetricsOptions = {}): Metrics {
  const registry = new Registry();
  const made = createAll(registry);
  const totals = new Map<string, number>();
  const readers: (() => void | Promise<void>)[] = [];
  if (options.withProcessMetrics ?? true) collectDefaultMetrics({ register: registry, prefix: 'leafgate_' });
  return {
    count: (name, ...[labels]) => counter(made, name).inc(labelValues(labels)),
    setTotal: (name, total, ...[labels]) => {
      const key = JSON.stringify([name, labels]);
      const growth = total - (totals.get(key) ?? 0);
      totals.set(key, total);
      // at 0 too: what never happened is worth seeing
      if (growth >= 0) counter(made, name).inc(labelValues(labels), growth);
    },
    set: (name, value, ...[labels]) => gauge(made, name).set(labelValues(labels), value),
    observe: (name, value, ...[labels]) => histogram(made, name).observe(labelValues(labels), value),
    beforeScrape: (read) => void readers.push(read),
    render: async () => {
      // a reader that fails leaves its gauges as they were; the rest is still worth reading
      await Promise.allSettled(readers.map(async (read) => read()));
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}

type AnyMetric = Counter | Gauge | Histogram;
type Made = ReadonlyMap<string, AnyMetric>;

function createAll(registry: Registry): Made {
  const made = new Map<string, AnyMetric>();
  for (const [name, spec] of Object.entries(metricsTable)) made.set(name, createOne(registry, name, spec));
  return made;
}

function createOne(registry: Registry, name: string, spec: MetricSpec): AnyMetric {
  const common = { name, help: spec.help, labelNames: Object.keys(spec.labels), registers: [registry] };
  const combinations = labelCombinations(spec.labels);
  switch (spec.kind) {
    case 'counter': {
      const metric = new Counter(common);
      for (const labels of combinations) metric.inc(labels, 0);
      return metric;
    }
    case 'gauge': {
      const metric = new Gauge(common);
      for (const labels of combinations) metric.set(labels, 0);
      return metric;
    }
    case 'histogram': {
      const metric = new Histogram({ ...common, buckets: [...(spec.buckets ?? [])] });
      for (const labels of combinations) metric.zero(labels);
      return metric;
    }
    default:
      return spec.kind satisfies never;
  }
}

type LabelValues = Record<string, string>;

const noLabels: LabelValues = {};

/** the table's types have checked the labels already; prom-client wants a plain record */
function labelValues(labels: object | undefined): LabelValues {
  if (labels === undefined) return noLabels;
  return Object.fromEntries(Object.entries(labels).map(([label, value]) => [label, String(value)]));
}

function labelCombinations(labels: MetricSpec['labels']): readonly LabelValues[] {
  let combinations: readonly LabelValues[] = [{}];
  for (const [label, values] of Object.entries(labels)) {
    // an open label has its values from whoever sets them
    if ('open' in values) return [];
    combinations = combinations.flatMap((known) => values.map((value) => ({ ...known, [label]: value })));
  }
  return combinations;
}

function counter(made: Made, name: MetricName): Counter {
  const metric = made.get(name);
  if (metric instanceof Counter) return metric;
  throw new Error(`${name} is no counter`);
}

function gauge(made: Made, name: MetricName): Gauge {
  const metric = made.get(name);
  if (metric instanceof Gauge) return metric;
  throw new Error(`${name} is no gauge`);
}

function histogram(made: Made, name: MetricName): Histogram {
  const metric = made.get(name);
  if (metric instanceof Histogram) return metric;
  throw new Error(`${name} is no histogram`);
}
