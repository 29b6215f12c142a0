import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/clock.ts';
import { electByLease } from '../../../src/kube/lease-election.ts';
import type { LeaseElection } from '../../../src/kube/lease-election.ts';
import type { KubeObject } from '../../../src/kube/kube-types.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import type { FakeClock } from '../../support/fake-clock.ts';
import { createListeningLog } from '../../support/kube-world.ts';
import { createObjectStore } from '../../support/object-store.ts';
import type { ObjectStore } from '../../support/object-store.ts';

let clock: FakeClock;
let store: ObjectStore;
let told: string[];
let open: LeaseElection[];
let log: ReturnType<typeof createListeningLog>;

beforeEach(() => {
  clock = createFakeClock(Date.UTC(2026, 0, 1, 0, 0, 0, 7));
  store = createObjectStore();
  told = [];
  open = [];
  log = createListeningLog();
});
afterEach(() => Promise.all(open.map((election) => election.close())));

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
}

async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    clock.advance(Math.min(500, left));
    await settled();
  }
}

async function elect(
  identity: string,
  onStopped: () => void | Promise<void> = () => undefined,
  watch: Clock = clock,
): Promise<LeaseElection> {
  const election = electByLease({
    client: store.client,
    clock: watch,
    log,
    identity,
    namespace: 'egress',
    name: 'leafgate-controller',
    random: () => 0,
    onStarted: () => told.push(`${identity} starts`),
    onStopped: async () => {
      told.push(`${identity} stops`);
      await onStopped();
    },
  });
  open.push(election);
  await settled();
  return election;
}

const spec = (): Record<string, unknown> => store.object()?.['spec'] as Record<string, unknown>;

function leaseOf(holder: string, more: object = {}): KubeObject {
  const metadata = { name: 'leafgate-controller', namespace: 'egress' };
  const times = { acquireTime: '2020-01-01T00:00:00.000000Z', renewTime: '2020-01-01T00:00:00.000000Z' };
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata,
    spec: { holderIdentity: holder, leaseDurationSeconds: 15, leaseTransitions: 4, ...times, ...more },
  };
}

describe('an election', () => {
  it('makes the Lease, with times of six digits, and leads', async () => {
    const election = await elect('a');
    expect(election.isLeader()).toBe(true);
    expect(spec()).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
      acquireTime: '2026-01-01T00:00:00.007000Z',
      renewTime: '2026-01-01T00:00:00.007000Z',
    });
  });

  it('renews every two seconds and keeps what others have put beside', async () => {
    store.put(leaseOf('', { strategy: 'x' }));
    await elect('a');
    await pass(2000);
    expect(store.writes).toHaveLength(2);
    expect(spec()).toMatchObject({ leaseTransitions: 5, strategy: 'x', renewTime: '2026-01-01T00:00:02.007000Z' });
    expect(spec()['acquireTime']).toBe('2026-01-01T00:00:00.007000Z');
  });

  it('waits one whole duration for a holder that is dead, by its own watch and not by the times in the Lease', async () => {
    store.put(leaseOf('dead'));
    const election = await elect('a');
    expect(election.holder()).toBe('dead');
    await pass(14_000);
    expect(election.isLeader()).toBe(false);
    await pass(3000);
    expect(election.isLeader()).toBe(true);
    expect(spec()).toMatchObject({ holderIdentity: 'a', leaseTransitions: 5 });
  });

  it('counts the duration that stands in the Lease, not its own', async () => {
    store.put(leaseOf('slow', { leaseDurationSeconds: 60 }));
    const election = await elect('a');
    await pass(58_000);
    expect(election.isLeader()).toBe(false);
    await pass(4000);
    expect(election.isLeader()).toBe(true);
  });

  it('waits no more than five minutes for a holder that never renews, whatever stands in the Lease', async () => {
    store.put(leaseOf('slip', { leaseDurationSeconds: 2 ** 31 - 1, renewTime: '2999-01-01T00:00:00.000000Z' }));
    await elect('a');
    await pass(295_000);
    expect(told).toEqual([]);
    await pass(10_000);
    expect(told).toEqual(['a starts']);
  });

  it('takes a Lease whose count of transitions can go no further', async () => {
    store.put(leaseOf('', { leaseTransitions: 2 ** 31 - 1 }));
    await elect('a');
    expect(spec()).toMatchObject({ holderIdentity: 'a', leaseTransitions: 0 });
  });

  it('has one leader of two, and the other takes over within a few seconds of a clean end', async () => {
    const first = await elect('a');
    const second = await elect('b');
    await pass(30_000);
    expect([first.isLeader(), second.isLeader()]).toEqual([true, false]);
    await first.close();
    expect(spec()).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    await pass(3000);
    expect(second.isLeader()).toBe(true);
    expect(told).toEqual(['a starts', 'a stops', 'b starts']);
  });

  it('does not mind what a wall clock does', async () => {
    const first = await elect('a');
    const second = await elect('b');
    await pass(5000);
    clock.setWallTime(Date.UTC(2036, 0, 1));
    await pass(5000);
    clock.setWallTime(Date.UTC(2016, 0, 1));
    await pass(5000);
    expect([first.isLeader(), second.isLeader()]).toEqual([true, false]);
  });

  it('stops when it could not renew for ten seconds, before another may start, and leads again later', async () => {
    const election = await elect('a');
    store.failWith('unavailable');
    await pass(9500);
    expect(election.isLeader()).toBe(true);
    expect(election.trouble()).toMatchObject({ kind: 'unavailable' });
    await pass(500);
    expect(election.isLeader()).toBe(false);
    store.failWith(undefined);
    await pass(3000);
    expect(election.isLeader()).toBe(true);
    expect(election.trouble()).toBeUndefined();
    expect(told).toEqual(['a starts', 'a stops', 'a starts']);
    expect(log.lines.filter(({ sentence }) => sentence.includes('cannot be read'))).toHaveLength(1);
  });

  it('is no leader any more when the process stood still, although no timer fired', async () => {
    const election = await elect('a', undefined, { ...clock, after: () => ({ cancel: () => undefined }) });
    expect(election.isLeader()).toBe(true);
    clock.advance(10_000);
    expect(election.isLeader()).toBe(false);
    expect(election.isHealthy()).toBe(true);
    clock.advance(10_000);
    expect(election.isHealthy()).toBe(false);
  });

  it('stops at once when the Lease belongs to another', async () => {
    const election = await elect('a');
    store.put(leaseOf('thief'));
    await pass(2000);
    expect(election.isLeader()).toBe(false);
    expect(told).toEqual(['a starts', 'a stops']);
    await election.close();
    expect(spec()).toMatchObject({ holderIdentity: 'thief' });
  });

  it('makes the Lease anew when somebody deleted it', async () => {
    const election = await elect('a');
    store.clear();
    await pass(2000);
    expect(election.isLeader()).toBe(true);
    expect(spec()).toMatchObject({ holderIdentity: 'a' });
    expect(told).toEqual(['a starts']);
  });

  it('gives the Lease back only when the work has stopped', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const election = await elect('a', () => promise);
    const closed = election.close();
    await settled();
    expect(election.isLeader()).toBe(false);
    expect(spec()).toMatchObject({ holderIdentity: 'a' });
    resolve();
    await closed;
    expect(spec()).toMatchObject({ holderIdentity: '' });
  });

  it('does not lead again while work of its last term is still stopping', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const election = await elect('a', () => promise);
    store.failWith('unavailable');
    await pass(10_000);
    store.failWith(undefined);
    await pass(20_000);
    expect(told).toEqual(['a starts', 'a stops']);
    resolve();
    await pass(3000);
    expect(told).toEqual(['a starts', 'a stops', 'a starts']);
    expect(election.isHealthy()).toBe(true);
  });

  it('does not start beside the work that it is stopping when a renewal succeeds too late', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const election = await elect('a', () => promise);
    await pass(7500);
    const answer = store.hold();
    // the last renewal that counts was at 6 s
    await pass(9000);
    expect(told).toEqual(['a starts', 'a stops']);
    answer();
    await settled();
    expect(election.isLeader()).toBe(false);
    resolve();
    await settled();
    expect(told).toEqual(['a starts', 'a stops', 'a starts']);
  });

  it('ends also when the Lease cannot be given back', async () => {
    const election = await elect('a');
    store.failWith('unavailable');
    await election.close();
    expect(log.lines.at(-1)).toMatchObject({ level: 'warn', fields: { detail: 'it is unavailable' } });
  });
});
