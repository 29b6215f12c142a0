// What a gateway costs: latency over a direct connection, rate, CPU and memory, beside two other intercepting proxies, and
// with the record left out. Each round on fresh processes.
import { createTempFolder } from '../support/temp-folder.ts';
import { rotated, scaled, type BenchPlan } from './bench-plan.ts';
import { proxyNames, startProxy, type ProxyName } from './gateway-contenders.ts';
import { renderProxyTable, type ProxyFigure } from './gateway-table.ts';
import {
  loadProxy,
  residentKbOf,
  startGatewayWorld,
  whileHeld,
  type GatewayWorld,
  type ProxyUnderTest,
} from './gateway-world.ts';

const measures = {
  next: { title: 'request on an open connection', unit: 'p50 ms', isAdded: true },
  next99: { title: 'request on an open connection', unit: 'p99 ms', isAdded: true },
  warm: { title: 'new connection and request, known name', unit: 'p50 ms', isAdded: true },
  cold: { title: 'new connection and request, new name', unit: 'p50 ms', isAdded: true },
  rate: { title: '20 connections at once', unit: 'requests/s' },
  cpu: { title: '20 connections at once', unit: 'CPU µs/request' },
  idle: { title: 'memory, idle', unit: 'MB' },
  held: { title: 'memory per idle tunnel after one request', unit: 'KB' },
} as const;
type Measure = keyof typeof measures;
type Measured = { readonly [measure in Measure]?: number };
type Round = { readonly [name in ProxyName]?: Measured };

export async function benchGateway(plan: BenchPlan): Promise<string> {
  const folder = createTempFolder();
  const world = await startGatewayWorld(folder);
  const rounds: Round[] = [];
  try {
    for (let round = 0; round < plan.rounds; round += 1) {
      plan.progress(`gateway: round ${round + 1} of ${plan.rounds}`);
      rounds.push(await measureAll(plan, world, rotated(proxyNames, round)));
    }
  } finally {
    await world.stop();
    folder.remove();
  }
  return renderProxyTable(figuresOf(rounds));
}

/** All proxies are up together, and each step is taken with one after the other: what the machine does besides hits all. */
async function measureAll(plan: BenchPlan, world: GatewayWorld, order: readonly ProxyName[]): Promise<Round> {
  const running: { readonly name: ProxyName; readonly proxy: ProxyUnderTest }[] = [];
  const measured: { [name in ProxyName]?: Measured } = {};
  try {
    for (const name of order) running.push({ name, proxy: await startProxy(name, world, plan.authority) });
    for (const step of steps) {
      for (const { name, proxy } of running) {
        measured[name] = { ...measured[name], ...(await step({ plan, world, proxy })) };
      }
    }
  } finally {
    for (const { proxy } of running) await proxy.stop();
  }
  return measured;
}

type Place = { readonly plan: BenchPlan; readonly world: GatewayWorld; readonly proxy: ProxyUnderTest };

const steps: readonly ((place: Place) => Promise<Measured>)[] = [
  async ({ world, proxy }) => {
    await loadProxy(world, proxy, { prefix: 'known', connections: 40, parallel: 4, requests: 20 });
    return proxy.port === undefined ? {} : { idle: residentKbOf(proxy.pids) / 1024 };
  },
  async ({ plan, world, proxy }) => {
    const { next } = await loadProxy(world, proxy, { prefix: 'known', connections: 4, requests: scaled(plan, 250) });
    return { next: next.p50_ms, next99: next.p99_ms };
  },
  async ({ plan, world, proxy }) => {
    const { first } = await loadProxy(world, proxy, { prefix: 'known', connections: scaled(plan, 200) });
    return { warm: first.p50_ms };
  },
  async ({ plan, world, proxy }) => {
    const connections = scaled(plan, 200);
    const { first } = await loadProxy(world, proxy, { prefix: 'new', connections, names: connections });
    return { cold: first.p50_ms };
  },
  async ({ plan, world, proxy }) => {
    const load = { prefix: 'known', connections: 20, parallel: 20, requests: scaled(plan, 200) };
    const { per_s: rate, cpu_us: cpu } = await loadProxy(world, proxy, load);
    return proxy.port === undefined ? { rate } : { rate, cpu };
  },
  async ({ plan, world, proxy }) => {
    if (proxy.port === undefined) return {};
    const connections = scaled(plan, 500);
    const before = residentKbOf(proxy.pids);
    const load = { prefix: 'known', connections, parallel: 10 };
    const heldKb = await whileHeld({ world, proxy, load }, () => residentKbOf(proxy.pids));
    return { held: (heldKb - before) / connections };
  },
];

function figuresOf(rounds: readonly Round[]): readonly ProxyFigure[] {
  return (Object.keys(measures) as Measure[]).map((measure) => ({
    isAdded: false,
    ...measures[measure],
    rounds: rounds.map((round) => {
      const values = proxyNames.flatMap((name) => {
        const value = round[name]?.[measure];
        return value === undefined ? [] : [[name, value] as const];
      });
      return Object.fromEntries(values);
    }),
  }));
}
