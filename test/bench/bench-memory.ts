// What a live name costs: growth of the server's resident set from idle to 5,000 names held, on both transports, with
// idle memory beside it, since the growth alone would flatter a large runtime.
import { scaled, interleave } from './bench-plan.ts';
import type { BenchPlan } from './bench-plan.ts';
import { residentKb } from './contenders.ts';
import { loadSds } from './load-tools.ts';
import type { Bound, Figure } from './measurement.ts';

const transports = ['ads', 'streams'] as const;
const streamsBound: Bound = { kind: 'at-most', ratio: 0.8 };
/** long enough for garbage of the load to be given back where the runtime does so by itself */
const settleMs = 2000;

export async function benchMemory(plan: BenchPlan): Promise<readonly Figure[]> {
  const names = scaled(plan, 5000);
  const figures: Figure[] = [];
  for (const transport of transports) {
    const label = transport === 'ads' ? 'delta ADS' : 'one stream a name';
    const results = await interleave(plan, `memory, ${label}`, async ({ reach, pid }) => {
      const idleKb = residentKb(pid);
      const load = { reach, pid, transport, names, outstanding: 16, prefix: 'live', settleMs };
      const { rss_after_kb: heldKb } = await loadSds({ ...load, caFile: plan.authority.caFile });
      return { idleMb: idleKb / 1024, perNameKb: (heldKb - idleKb) / names, heldMb: heldKb / 1024 };
    });
    figures.push(
      {
        title: `memory per live name at ${names}, ${label}`,
        unit: 'KB over idle',
        rounds: results.get('perNameKb') ?? [],
        ...(transport === 'streams' ? { bound: streamsBound } : {}),
      },
      { title: `memory with ${names} names, ${label}`, unit: 'MB', rounds: results.get('heldMb') ?? [] },
    );
    if (transport === 'ads') figures.push({ title: 'idle memory', unit: 'MB', rounds: results.get('idleMb') ?? [] });
  }
  return figures;
}
