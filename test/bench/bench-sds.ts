// Mints per second, latency and server CPU per mint over raw gRPC, in the shapes of Envoy's two transports.
import { interleave, scaled } from './bench-plan.ts';
import type { BenchPlan } from './bench-plan.ts';
import { loadSds } from './load-tools.ts';
import type { SdsLoad } from './load-tools.ts';
import type { Bound, Figure } from './measurement.ts';

const shapes = [
  { transport: 'ads', outstanding: 16, label: 'delta ADS, one stream, 16 outstanding' },
  { transport: 'streams', outstanding: 32, label: 'one stream a name, 32 outstanding' },
  { transport: 'streams', outstanding: 1, label: 'one stream a name, 1 outstanding' },
] as const;

/** V8's last tier comes late, and the leaf cache is full at 10,000: the CPU of a mint falls until then; servers run for days */
const warmUps = ['warm-up-1', 'warm-up-2'] as const;
/** below the cap of live names */
const warmUpNames = 12_000;
const warmUpOutstanding = 32;

/** below a name that no contender may mint */
const refusedDomain = 'refused.test';

const rateBound: Bound = { kind: 'at-least', ratio: 1.5 };
const cpuBound: Bound = { kind: 'at-most', ratio: 0.5 };

export async function benchSds(plan: BenchPlan): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const { transport, outstanding, label } of shapes) {
    const names = scaled(plan, outstanding === 1 ? 2000 : 5000);
    const results = await interleave(plan, label, async ({ reach, pid }) => {
      const load = { reach, pid, transport, outstanding, caFile: plan.authority.caFile };
      // both languages get their code warm before the clock starts
      await warmUp(plan, load);
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
  return [...figures, ...(await benchRefusals(plan))];
}

/** A name that may not be minted, one at a time: what its client waits for its alert. */
async function benchRefusals(plan: BenchPlan): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const transport of ['ads', 'streams'] as const) {
    const label = transport === 'ads' ? 'refused name, delta ADS' : 'refused name, one stream a name';
    const results = await interleave(plan, label, async ({ reach, pid }) => {
      const load = { reach, pid, transport, caFile: plan.authority.caFile, domain: refusedDomain };
      await warmUp(plan, load);
      const measured = await loadSds({ ...load, names: scaled(plan, 2000), prefix: 'load', outstanding: 1 });
      return { p50: measured.p50_ms, p99: measured.p99_ms, cpu: measured.server_cpu_us };
    });
    figures.push(
      { title: label, unit: 'p50 ms', rounds: results.get('p50') ?? [] },
      { title: label, unit: 'p99 ms', rounds: results.get('p99') ?? [] },
      { title: label, unit: 'server CPU µs', rounds: results.get('cpu') ?? [] },
    );
  }
  return figures;
}

async function warmUp(plan: BenchPlan, load: Omit<SdsLoad, 'names' | 'outstanding' | 'prefix'>): Promise<void> {
  for (const prefix of warmUps) {
    await loadSds({ ...load, prefix, names: scaled(plan, warmUpNames), outstanding: warmUpOutstanding });
  }
}
