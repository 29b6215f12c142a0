// Reads the samples of our own /metrics back: name and labels as they are printed, to a number. Pure.

/** key: `leafgate_records_total{decision="deny",outcome="refused"}`, labels in the order of the table of metrics */
export type Samples = ReadonlyMap<string, number>;

export function readSamples(text: string): Samples {
  const samples = new Map<string, number>();
  for (const line of text.split('\n')) {
    const end = line.lastIndexOf(' ');
    if (line.startsWith('#') || end < 1) continue;
    const value = Number(line.slice(end + 1));
    if (!Number.isNaN(value)) samples.set(line.slice(0, end), value);
  }
  return samples;
}

/** The sum over all samples of a metric whose labels have these values; 0 when there is none. */
export function sumOf(samples: Samples, metric: string, labels: Readonly<Record<string, string>> = {}): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  let sum = 0;
  for (const [key, value] of samples) {
    if (key !== metric && !key.startsWith(`${metric}{`)) continue;
    const given = key.slice(metric.length + 1, -1).split(',');
    if (wanted.every((label) => given.includes(label))) sum += value;
  }
  return sum;
}
