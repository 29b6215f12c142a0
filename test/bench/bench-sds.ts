// Mints per second, latency and server CPU per mint over raw gRPC, in the shapes of Envoy's two transports.
import { interleave, scaled } from './bench-plan.ts';
import type { BenchPlan } from './bench-plan.ts';
import { loadSds } from './load-tools.ts';
import type { Bound, Figure } from './measurement.ts';

const shapes = [
  { transport: 'ads', outstanding: 16, label: 'delta ADS, one stream, 16 outstanding' },
  { transport: 'streams', outstanding: 32, label: 'one stream a name, 32 outstanding' },
  { transport: 'streams', outstanding: 1, label: 'one stream a name, 1 outstanding' },
] as const;

/** V8's last tier comes after some ten thousand mints; servers run for days */
const warmUpNames = 12_000;

const rateBound: Bound = { kind: 'at-least', ratio: 1.5 };
const cpuBound: Bound = { kind: 'at-most', ratio: 0.5 };

export async function benchSds(plan: BenchPlan): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const { transport, outstanding, label } of shapes) {
    const names = scaled(plan, outstanding === 1 ? 2000 : 5000);
    const results = await interleave(plan, label, async ({ socket, pid }) => {
      const load = { socket, pid, transport, outstanding, caFile: plan.authority.caFile };
      // both languages get their code warm before the clock starts
      await loadSds({ ...load, names: scaled(plan, warmUpNames), prefix: 'warm-up' });
      const measured = await loadSds({ ...load, names, prefix: 'load' });
      return { rate: measured.per_s, cpu: measured.server_cpu_us, p50: measured.p50_ms, p99: measured.p99_ms };
    });
    const rounds = (key: 'rate' | 'cpu' | 'p50' | 'p99') => results.get(key) ?? [];
    const isBounded = outstanding > 1;
    figures.push(
      { title: label, unit: 'mints/s', rounds: rounds('rate'), ...(isBounded ? { bound: rateBound } : {}) },
      { title: label, unit: 'server CPU µs/mint', rounds: rounds('cpu'), ...(isBounded ? { bound: cpuBound } : {}) },
      { title: label, unit: 'p50 ms', rounds: rounds('p50') },
      { title: label, unit: 'p99 ms', rounds: rounds('p99') },
    );
  }
  return figures;
}
