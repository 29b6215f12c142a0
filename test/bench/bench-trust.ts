// Trust delivery by the agent of a node: from a change of a ClusterTrustBundle to the file of one actor, and to those of 1,000,
// with its memory. Beside it, in the same round, the least that does the same, and a Node that does nothing.
import { readSystemRoots } from '../../src/projection/system-roots.ts';
import { encodeCertificatesPem } from '../../src/x509/pem.ts';
import type { BenchPlan } from './bench-plan.ts';
import { renderBeside, type BesideRound } from './beside-table.ts';
import { median, quantile } from './measurement.ts';
import { ownMb, residentMb } from './process-memory.ts';
import {
  actorNames,
  makeAnchor,
  publish,
  startBareNode,
  startLeast,
  startProject,
  startTrustWorld,
  untilAll,
  wantedFiles,
  type TrustWorld,
} from './trust-world.ts';

const rows = {
  p50: 'write of the bundle → file of one actor, p50 ms',
  p99: 'write of the bundle → file of one actor, p99 ms',
  one: 'resident with one actor, MB',
  oneOwn: 'of which its own, MB',
  start: 'start → files of 1,000 actors, ms',
  all: 'write of the bundle → files of 1,000 actors, ms',
  many: 'resident with 1,000 actors, MB',
  manyOwn: 'of which its own, MB',
} as const;

const columns = ['leafgate', 'least', 'node'] as const;
type Column = (typeof columns)[number];
type Round = BesideRound<keyof typeof rows, Column>;

const notes: { readonly [column in Column]: string } = {
  leafgate: '`node --max-semi-space-size=4 … leafgate project --actors …`, two files an actor',
  least: 'a watch, and for each file a new one, synced and renamed, in the process of the bench, which runs already',
  node: 'a Node process that does nothing',
};

export async function benchTrust(plan: BenchPlan): Promise<string> {
  const rounds: Round[] = [];
  for (let round = 0; round < plan.rounds; round += 1) {
    plan.progress(`trust: round ${round + 1} of ${plan.rounds}`);
    const world = await startTrustWorld();
    try {
      rounds.push(await measureRound(plan, world));
    } finally {
      await world.stop();
    }
  }
  return renderBeside({ rows, columns, notes, rounds });
}

async function measureRound(plan: BenchPlan, world: TrustWorld): Promise<Round> {
  const roots = encodeCertificatesPem((await readSystemRoots()).certificates);
  const bare = startBareNode(world);
  try {
    const one = await measureOne(world, roots, Math.max(20, Math.round(200 * plan.scale)));
    const many = await measureMany(world, roots, Math.max(2, Math.round(5 * plan.scale)));
    const node = { resident: residentMb(bare.pid), own: ownMb(bare.pid) };
    return {
      ...{ p50: one.p50, p99: one.p99, start: many.start, all: many.all },
      one: { leafgate: one.resident, node: node.resident },
      oneOwn: { leafgate: one.own, node: node.own },
      many: { leafgate: many.resident, node: node.resident },
      manyOwn: { leafgate: many.own, node: node.own },
    };
  } finally {
    await bare.stop();
  }
}

type Times = { readonly leafgate: number; readonly least: number };

async function measureOne(
  world: TrustWorld,
  roots: string,
  count: number,
): Promise<Record<'p50' | 'p99', Times> & Memory> {
  const actors = actorNames(1);
  const first = makeAnchor();
  await publish(world, first);
  const ours = startProject(world, actors);
  const least = await startLeast(world, actors, roots);
  try {
    for (const { out } of [ours, least]) await untilAll(out, actors, { ...wanted(first), from: performance.now() });
    const times: Record<keyof Times, number[]> = { leafgate: [], least: [] };
    for (let index = 0; index < count; index += 1) {
      const next = makeAnchor();
      const from = performance.now();
      await publish(world, next);
      const [mine, its] = await Promise.all(
        [ours, least].map(({ out }) => untilAll(out, actors, { ...wanted(next), from })),
      );
      times.leafgate.push(mine ?? Number.NaN);
      times.least.push(its ?? Number.NaN);
    }
    const at = (share: number): Times => ({
      leafgate: quantile(times.leafgate, share),
      least: quantile(times.least, share),
    });
    await settle();
    return { p50: at(0.5), p99: at(0.99), ...memoryOf(ours.process.pid) };
  } finally {
    least.close();
    await ours.process.stop();
  }
}

/** One after the other: both keep the disk busy. */
async function measureMany(
  world: TrustWorld,
  roots: string,
  changes: number,
): Promise<Record<'start' | 'all', Times> & Memory> {
  const actors = actorNames(1000);
  let anchor = makeAnchor();
  await publish(world, anchor);
  const change = async (out: string): Promise<number> => {
    anchor = makeAnchor();
    const from = performance.now();
    await publish(world, anchor);
    return untilAll(out, actors, { ...wanted(anchor), from });
  };
  const leastFrom = performance.now();
  const least = await startLeast(world, actors, roots);
  const leastStart = await untilAll(least.out, actors, { ...wanted(anchor), from: leastFrom });
  const leastTimes: number[] = [];
  for (let index = 0; index < changes; index += 1) leastTimes.push(await change(least.out));
  least.close();
  const from = performance.now();
  const ours = startProject(world, actors);
  try {
    const start = await untilAll(ours.out, actors, { ...wanted(anchor), from });
    const times: number[] = [];
    for (let index = 0; index < changes; index += 1) times.push(await change(ours.out));
    await settle();
    return {
      start: { leafgate: start, least: leastStart },
      all: { leafgate: median(times), least: median(leastTimes) },
      ...memoryOf(ours.process.pid),
    };
  } finally {
    await ours.process.stop();
  }
}

/** the merged file is written last */
function wanted(anchor: string): { readonly file: string; readonly part: string } {
  return { file: wantedFiles.merged, part: anchor.trim() };
}

type Memory = { readonly resident: number; readonly own: number };

function memoryOf(pid: number): Memory {
  return { resident: residentMb(pid), own: ownMb(pid) };
}

/** where garbage is given back by itself */
const settleMs = 5000;

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, settleMs));
}
