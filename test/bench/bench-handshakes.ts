// Whole TLS handshakes through one real Envoy over delta ADS: cold names (each is minted) and warm ones.
import { createTempFolder } from '../support/temp-folder.ts';
import { startEnvoyUnderTest } from '../support/envoy-under-test.ts';
import { findTool } from '../support/tools.ts';
import { interleave, scaled } from './bench-plan.ts';
import type { BenchPlan } from './bench-plan.ts';
import { loadTls } from './load-tools.ts';
import type { Figure } from './measurement.ts';

export async function benchHandshakes(plan: BenchPlan): Promise<readonly Figure[]> {
  const envoy = findTool('envoy-1.40.0');
  if (envoy.path === undefined) throw new Error(envoy.missing);
  const { path: binary } = envoy;
  const { caFile } = plan.authority;
  const onSockets = { ...plan, contenders: plan.contenders.filter((name) => name !== 'leafgate-tcp') };
  const results = await interleave(onSockets, 'handshakes', async ({ socket }) => {
    const folder = createTempFolder();
    const running = await startEnvoyUnderTest({ binary, folder, sdsSocket: socket, transport: 'ads' });
    try {
      const load = { port: running.port, caFile };
      const count = scaled(plan, 500);
      await loadTls({ ...load, prefix: 'warm-up', handshakes: 100, distinct: 100, parallel: 4 });
      const one = await loadTls({ ...load, prefix: 'cold1', handshakes: count, distinct: count, parallel: 1 });
      const many = await loadTls({ ...load, prefix: 'cold20', handshakes: count, distinct: count, parallel: 20 });
      const warm = await loadTls({ ...load, prefix: 'cold1', handshakes: 2 * count, distinct: 100, parallel: 20 });
      return { cold1: one.p50_ms, cold1p99: one.p99_ms, cold20: many.per_s, warm20: warm.per_s };
    } finally {
      await running.stop();
      folder.remove();
    }
  });
  return [
    { title: 'cold handshake through Envoy, one at a time', unit: 'p50 ms', rounds: results.get('cold1') ?? [] },
    { title: 'cold handshake through Envoy, one at a time', unit: 'p99 ms', rounds: results.get('cold1p99') ?? [] },
    { title: 'cold handshakes through Envoy, 20 at once', unit: 'per s', rounds: results.get('cold20') ?? [] },
    { title: 'warm handshakes through Envoy, 20 at once', unit: 'per s', rounds: results.get('warm20') ?? [] },
  ];
}
