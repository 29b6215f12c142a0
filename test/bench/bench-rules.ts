// What rules cost: the same requests through a gateway with 10, 1,000 and 10,000 rules, half of them for one name, half for
// all below a name, none of which decides.
import { writeFileSync } from 'node:fs';
import { createTempFolder } from '../support/temp-folder.ts';
import { rotated, scaled, type BenchPlan } from './bench-plan.ts';
import { startLeafgate } from './gateway-contenders.ts';
import { shown } from './gateway-table.ts';
import {
  loadProxy,
  pathOf,
  residentKbOf,
  startGatewayWorld,
  type GatewayWorld,
  type ProxyUnderTest,
} from './gateway-world.ts';
import { median } from './measurement.ts';

const counts = [10, 1_000, 10_000] as const;
type Count = (typeof counts)[number];

const rows = {
  next: 'request on an open connection, p50 ms',
  first: 'new connection and request, p50 ms',
  rate: '20 connections at once, requests/s',
  cpu: '20 connections at once, CPU µs/request',
  idle: 'memory of both processes, MB',
} as const;
type Row = keyof typeof rows;
type Measured = { readonly [row in Row]?: number };
type Round = { readonly [count in Count]?: Measured };

export async function benchRules(plan: BenchPlan): Promise<string> {
  const folder = createTempFolder();
  const world = await startGatewayWorld(folder);
  const rounds: Round[] = [];
  try {
    for (let round = 0; round < plan.rounds; round += 1) {
      plan.progress(`rules: round ${round + 1} of ${plan.rounds}`);
      rounds.push(await measureAll(plan, world, rotated(counts, round)));
    }
  } finally {
    await world.stop();
    folder.remove();
  }
  return render(rounds);
}

/** as with the proxies: all are up together */
async function measureAll(plan: BenchPlan, world: GatewayWorld, order: readonly Count[]): Promise<Round> {
  const running: { readonly count: Count; readonly proxy: ProxyUnderTest }[] = [];
  const measured: { [count in Count]?: Measured } = {};
  try {
    for (const count of order) running.push({ count, proxy: await startWithRules(world, count) });
    for (const step of steps) {
      for (const { count, proxy } of running) {
        measured[count] = { ...measured[count], ...(await step({ plan, world, proxy })) };
      }
    }
  } finally {
    for (const { proxy } of running) await proxy.stop();
  }
  return measured;
}

function startWithRules(world: GatewayWorld, count: Count): Promise<ProxyUnderTest> {
  const file = world.folder.file(`rules-${count}.json`);
  writeFileSync(file, JSON.stringify(policyOf(count)));
  return startLeafgate(world, { envoy: pathOf('envoy-1.40.0'), more: ['--policy', file] });
}

type Place = { readonly plan: BenchPlan; readonly world: GatewayWorld; readonly proxy: ProxyUnderTest };
const prefix = 'known';

const steps: readonly ((place: Place) => Promise<Measured>)[] = [
  async ({ world, proxy }) => {
    await loadProxy(world, proxy, { prefix, connections: 40, parallel: 4, requests: 20 });
    return { idle: residentKbOf(proxy.pids) / 1024 };
  },
  async ({ plan, world, proxy }) => {
    const { next } = await loadProxy(world, proxy, { prefix, connections: 4, requests: scaled(plan, 250) });
    return { next: next.p50_ms };
  },
  async ({ plan, world, proxy }) => {
    const { first } = await loadProxy(world, proxy, { prefix, connections: scaled(plan, 200) });
    return { first: first.p50_ms };
  },
  async ({ plan, world, proxy }) => {
    const load = { prefix, connections: 20, parallel: 20, requests: scaled(plan, 200) };
    const { per_s: rate, cpu_us: cpu } = await loadProxy(world, proxy, load);
    return { rate, cpu };
  },
];

function policyOf(count: number): object {
  const rules = Array.from({ length: count }, (_, index) => {
    const host = index % 2 === 0 ? `host-${index}.rules.test` : `*.zone-${index}.rules.test`;
    return { name: `rule-${index}`, hosts: [host], verdict: 'deny' };
  });
  return { default: 'intercept', rules };
}

function render(rounds: readonly Round[]): string {
  const values = (row: Row, count: Count): readonly number[] => rounds.flatMap((round) => round[count]?.[row] ?? []);
  const ratio = (row: Row): string => {
    const ratios = rounds.flatMap((round) => {
      const [few, many] = [round[10]?.[row], round[10_000]?.[row]];
      return few === undefined || many === undefined ? [] : [many / few];
    });
    return `${median(ratios).toFixed(2)} [${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}]`;
  };
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const header = ['', ...counts.map((count) => `${count} rules`), '10000 / 10 rules [range]'];
  return [
    line(header),
    line(header.map(() => '---')),
    ...(Object.keys(rows) as Row[]).map((row) => {
      return line([rows[row], ...counts.map((count) => shown(values(row, count))), ratio(row)]);
    }),
  ].join('\n');
}
