// The controller: from a write of the pool's Secret to the event of the bundle, its memory, and what it asks of the API server
// when nothing happens. Beside it, in the same round, the least that could do the same: a watch and a write, without a check.
import type { ApiRequest } from '../support/cluster/audit-log.ts';
import { startKubeletVolume } from '../support/cluster/ctb-oracle.ts';
import { mustSucceed } from '../support/cluster/raw-api.ts';
import type { WatchEvent } from '../support/cluster/raw-watch.ts';
import type { BenchPlan } from './bench-plan.ts';
import {
  addGateway,
  bundleIsPublished,
  bundlesPath,
  followOne,
  makePool,
  secretPath,
  startBareNode,
  startController,
  startControllerWorld,
  writePool,
  type ControllerWorld,
  type PoolContent,
} from './controller-world.ts';
import { ownMb, residentMb } from './process-memory.ts';
import { renderBeside, type BesideRound } from './beside-table.ts';
import { quantile } from './measurement.ts';

const rows = {
  p50: 'write of the pool → event of the bundle, p50 ms',
  p99: 'write of the pool → event of the bundle, p99 ms',
  idle: 'resident with one gateway, MB',
  idleOwn: 'of which its own, MB',
  many: 'resident with 50 gateways, MB',
  manyOwn: 'of which its own, MB',
} as const;

const columns = ['leafgate', 'least', 'node', 'go-kubelet'] as const;
type Column = (typeof columns)[number];
type Round = BesideRound<keyof typeof rows, Column>;

const notes: { readonly [column in Column]: string } = {
  leafgate: '`leafgate controller`, with the flags and the environment of its manifest',
  least: 'a watch of the Secret and a write of a bundle that was made before, in the process of the bench',
  node: 'a Node process that does nothing, with the same',
  'go-kubelet': "Kubernetes' own client in Go, following the bundles of one signer",
};

export async function benchController(plan: BenchPlan): Promise<string> {
  const rounds: Round[] = [];
  for (let round = 0; round < plan.rounds; round += 1) {
    plan.progress(`controller: round ${round + 1} of ${plan.rounds}`);
    rounds.push(await inWorld((world) => measureRound(plan, world)));
  }
  const steady = await inWorld((world) => measureSteadyState(plan, world));
  return [renderBeside({ rows, columns, notes, rounds }), '', ...steady].join('\n');
}

async function inWorld<T>(work: (world: ControllerWorld) => Promise<T>): Promise<T> {
  const world = await startControllerWorld();
  try {
    return await work(world);
  } finally {
    await world.stop();
  }
}

async function measureRound(plan: BenchPlan, world: ControllerWorld): Promise<Round> {
  const bundle = await addGateway(world, 'one');
  const controller = startController(world);
  const bare = startBareNode(world);
  const select = { signerName: `bench.example/${world.namespace}`, labelSelector: {} };
  const volume = startKubeletVolume(world.plane, { folder: `${world.plane.dir}/volume`, file: 'ca.pem', select });
  try {
    await bundleIsPublished(world, bundle);
    await settle();
    const pids = { leafgate: controller.pid, node: bare.pid, 'go-kubelet': volume.pid };
    const [idle, idleOwn] = [ofEach(pids, residentMb), ofEach(pids, ownMb)];
    const count = Math.max(10, Math.round(60 * plan.scale));
    const ours = await timesOf(world, { count, secret: 'one-pool', bundle });
    const least = await timesOfLeast(world, count);
    const names: string[] = [];
    for (let index = 1; index < 50; index += 1) names.push(await addGateway(world, `more-${index}`));
    for (const name of names) await bundleIsPublished(world, name);
    await settle();
    return {
      p50: { leafgate: quantile(ours, 0.5), least: quantile(least, 0.5) },
      p99: { leafgate: quantile(ours, 0.99), least: quantile(least, 0.99) },
      ...{ idle, idleOwn, many: ofEach(pids, residentMb), manyOwn: ofEach(pids, ownMb) },
    };
  } finally {
    await Promise.all([controller.stop(), bare.stop(), volume.stop()]);
  }
}

type Chain = { readonly count: number; readonly secret: string; readonly bundle: string };

/** the controller lets a gateway that changes all the time wait: one change a second is what it takes at once */
const betweenWritesMs = 1_200;

/** two pools in turn, one write after the other has been seen and the controller has rested */
async function timesOf(world: ControllerWorld, { count, secret, bundle }: Chain): Promise<readonly number[]> {
  const pools = [makePool('a'), makePool('b')] as const;
  const follower = await followOne(world, bundlesPath, bundle);
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const pool = index % 2 === 0 ? pools[0] : pools[1];
    times.push(await follower.timeOf(() => writePool(world, secret, pool), holds(pool)));
    await pause(betweenWritesMs);
  }
  follower.close();
  return times;
}

/** comments may stand around it */
function holds({ pem }: PoolContent): (event: WatchEvent) => boolean {
  return ({ object }) => String(object['spec']?.trustBundle).includes(pem.trim());
}

async function timesOfLeast(world: ControllerWorld, count: number): Promise<readonly number[]> {
  const name = `bench.example:${world.namespace}:least`;
  const pools = [makePool('a'), makePool('b')] as const;
  const at = `${bundlesPath}/${name}`;
  const write = async (pem: string): Promise<void> => {
    const spec = { signerName: `bench.example/${world.namespace}`, trustBundle: pem };
    const object = { apiVersion: 'certificates.k8s.io/v1', kind: 'ClusterTrustBundle', metadata: { name }, spec };
    mustSucceed(await world.admin.apply(at, object));
  };
  await writePool(world, 'least-pool', pools[1]);
  await write(pools[1].pem);
  const list = secretPath(world, '').replace(/\/$/, '');
  const copier = await followOne(world, list, 'least-pool', ({ object }) => {
    const pool = pools.find(({ data }) => data.pool === object['data']?.pool);
    if (pool !== undefined) void write(pool.pem);
  });
  const follower = await followOne(world, bundlesPath, name);
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const pool = index % 2 === 0 ? pools[0] : pools[1];
    times.push(await follower.timeOf(() => writePool(world, 'least-pool', pool), holds(pool)));
    await pause(betweenWritesMs);
  }
  copier.close();
  follower.close();
  return times;
}

/** where garbage of the start is given back by itself */
const settleMs = 5000;
/** in which nothing changes */
const windowMs = 60_000;
const hourMs = 3_600_000;
/** so that the window has some of them */
const shortResyncMs = 10_000;
const usualResyncMs = 10 * 60_000;
/** of a resync: each is earlier by up to half */
const meanShare = 0.75;
/** a watch is asked for 5 to 10 minutes */
const meanWatchMs = 450_000;

/**
 * An hour in a minute: what comes all the time (the lease) counts as seen; a resync is measured by itself, in a window with
 * many of them; of the watches, which the window is too short for, each comes back after the mean of what it asks for.
 */
async function measureSteadyState(plan: BenchPlan, world: ControllerWorld): Promise<readonly string[]> {
  const length = windowMs * plan.scale;
  const bundles: string[] = [];
  for (let index = 0; index < 10; index += 1) bundles.push(await addGateway(world, `one-${index}`));
  const observe = async (
    resyncMs: number,
  ): Promise<{ readonly seen: readonly ApiRequest[]; readonly watches: number }> => {
    plan.progress(`controller: ${length / 1000} s of peace, resync every ${resyncMs / 1000} s`);
    const controller = startController(world, ['--resync', `${resyncMs / 1000}s`]);
    for (const name of bundles) await bundleIsPublished(world, name);
    await settle();
    const before = await world.plane.requestsOf(world.account.user);
    await pause(length);
    const after = await world.plane.requestsOf(world.account.user);
    await controller.stop();
    const seen = after.slice(before.length);
    return { seen, watches: before.filter(({ verb }) => verb === 'watch').length };
  };
  const long = await observe(hourMs);
  const short = await observe(shortResyncMs);
  const ofResync = Math.max(0, short.seen.length - long.seen.length) / (length / (shortResyncMs * meanShare));
  const steady = long.seen.filter(({ verb }) => verb !== 'watch');
  const hourly = {
    seen: (steady.length * hourMs) / length,
    resync: (ofResync * hourMs) / (usualResyncMs * meanShare),
    watches: (long.watches * hourMs) / meanWatchMs,
  };
  const writes = steady.filter(
    ({ verb, resource }) => !['get', 'list', 'watch'].includes(verb) && resource !== 'leases',
  );
  return [
    `Steady state with 10 gateways: ${Math.round(hourly.seen + hourly.resync + hourly.watches)} requests an hour, of which`,
    `- ${Math.round(hourly.seen)} seen all the time, from ${steady.length} in ${length / 1000} s: ${kindsOf(steady)}`,
    `- ${Math.round(hourly.resync)} of resyncs, at most ${usualResyncMs / 60_000} minutes apart, ${ofResync.toFixed(1)} each`,
    `- ${Math.round(hourly.watches)} of ${long.watches} watches, each asked for again after ${meanWatchMs / 1000} s on average`,
    `- writes other than of the lease: ${writes.length}`,
  ];
}

function kindsOf(requests: readonly ApiRequest[]): string {
  const counts = new Map<string, number>();
  for (const { verb, resource = 'no resource' } of requests) {
    counts.set(`${verb} ${resource}`, (counts.get(`${verb} ${resource}`) ?? 0) + 1);
  }
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ') || 'none';
}

type Processes = { readonly [column in Exclude<Column, 'least'>]: number };

function ofEach(pids: Processes, measure: (pid: number) => number): { readonly [column in keyof Processes]: number } {
  const { leafgate, node, 'go-kubelet': kubelet } = pids;
  return { leafgate: measure(leafgate), node: measure(node), 'go-kubelet': measure(kubelet) };
}

function settle(): Promise<void> {
  return pause(settleMs);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
