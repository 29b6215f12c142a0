// docs/metrics.md, made from the table of metrics; a test holds the file equal to it. Pure.
import { metricsTable, type MetricSpec } from './metrics-table.ts';

export function metricsMarkdown(): string {
  const rows = Object.entries(metricsTable).map(([name, spec]) => row(name, spec));
  return [
    '# Metrics',
    '',
    'Served as `/metrics` by `leafgate up` and `leafgate sds`. Every label value is present from the start, at 0. No label',
    'holds a name that a client could choose; the access record has those. `rule` has what the policy file calls its rules.',
    '',
    '| metric | kind | labels | what it tells |',
    '|---|---|---|---|',
    ...rows,
    '',
    'Beside them stand the usual process metrics of prom-client with the prefix `leafgate_`: CPU, memory, open files,',
    'garbage collection, and the event loop (`leafgate_nodejs_eventloop_lag_p99_seconds`).',
    '',
  ].join('\n');
}

function row(name: string, spec: MetricSpec): string {
  const labels = Object.entries(spec.labels).map(([label, values]) => {
    return `\`${label}\`: ${'open' in values ? values.open : values.join(', ')}`;
  });
  return `| \`${name}\` | ${spec.kind} | ${labels.join('; ')} | ${spec.help} |`;
}
