import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { millis } from '../../../src/clock.ts';
import { kubeError, ownFailure } from '../../../src/kube/kube-failure.ts';
import type { KubeFailureKind } from '../../../src/kube/kube-failure.ts';
import { followObjects } from '../../../src/kube/follow-objects.ts';
import type { FollowRequest, ObjectFollower } from '../../../src/kube/follow-objects.ts';
import type { KubeObject } from '../../../src/kube/kube-types.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import type { FakeClock } from '../../support/fake-clock.ts';
import { createListeningLog, secretAt, secrets } from '../../support/kube-world.ts';
import { createScriptedKubeClient, listOf } from '../../support/scripted-kube-client.ts';
import type { ScriptedKubeClient } from '../../support/scripted-kube-client.ts';

let client: ScriptedKubeClient;
let clock: FakeClock;
let follower: ObjectFollower;
let log: ReturnType<typeof createListeningLog>;
const told: string[] = [];

beforeEach(() => {
  client = createScriptedKubeClient();
  clock = createFakeClock();
  log = createListeningLog();
  told.length = 0;
});
afterEach(() => follower.close());

const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

async function follow(more: Partial<FollowRequest> = {}): Promise<ObjectFollower> {
  follower = followObjects({
    client,
    clock,
    log,
    random: () => 0.5,
    query: { resource: secrets, namespace: 'egress', name: 'pool' },
    onChange: (change) => {
      told.push(
        change.kind === 'put'
          ? `put ${change.object.metadata.name} ${change.object.metadata.resourceVersion ?? ''}`
          : `gone ${change.namespace ?? ''}/${change.name}`,
      );
    },
    onSynced: () => told.push('synced'),
    ...more,
  });
  await settled();
  return follower;
}

async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  await settled();
}

function failure(kind: KubeFailureKind, retryAfterMs?: number): Error {
  return kubeError(
    'watch secrets',
    ownFailure(kind, `it is ${kind}`, retryAfterMs === undefined ? undefined : millis(retryAfterMs)),
  );
}

const put = (object: KubeObject): void => client.open().terms.onEvent({ kind: 'put', object });

describe('a follower', () => {
  it('tells the list, then that it is synced, then each change, and watches from the list', async () => {
    client.nextList(listOf('10', secretAt('7')));
    await follow();
    expect(told).toEqual(['put pool 7', 'synced']);
    expect(client.open().terms).toMatchObject({ resourceVersion: '10', timeoutSeconds: 450, silenceMs: 180_000 });
    put(secretAt('11'));
    client.open().terms.onEvent({ kind: 'gone', object: secretAt('12') });
    expect(told.slice(2)).toEqual(['put pool 11', 'gone egress/pool']);
    expect(follower.get('pool', 'egress')).toBeUndefined();
    expect(follower.isSynced()).toBe(true);
  });

  it('goes on at once from the last bookmark when a watch ends after its time', async () => {
    await follow();
    client.open().terms.onEvent({ kind: 'bookmark', resourceVersion: '99' });
    clock.advance(300_000);
    client.open().end();
    await settled();
    expect(client.watches).toHaveLength(2);
    expect(client.open().terms.resourceVersion).toBe('99');
    expect(client.listed()).toBe(1);
  });

  it('asks for five to ten minutes', async () => {
    await follow({ random: () => 0.9999 });
    expect(client.open().terms.timeoutSeconds).toBe(600);
  });

  it('lists again when its version is gone, and tells what vanished meanwhile', async () => {
    const other = { ...secretAt('3'), metadata: { name: 'other', namespace: 'egress', resourceVersion: '3' } };
    client.nextList(listOf('10', secretAt('7'), other));
    await follow();
    told.length = 0;
    client.nextList(listOf('500', other));
    client.open().fail(failure('gone'));
    await settled();
    expect(told).toEqual(['gone egress/pool']);
    expect(client.open().terms.resourceVersion).toBe('500');
    expect(follower.trouble()).toBeUndefined();
  });

  it('lists at most once a pause when every version is gone', async () => {
    await follow();
    for (let round = 0; round < 600; round += 1) {
      const before = client.watches.length;
      client.open().fail(failure('gone'));
      await settled();
      if (client.watches.length === before) await pass(1000);
    }
    // ten minutes: about one each 30 s once the pause has grown
    expect(client.listed()).toBeLessThan(45);
  });

  it('does not spin on a server that ends each watch at once', async () => {
    await follow();
    for (let second = 0; second < 600; second += 1) {
      client.open().end();
      await pass(1000);
    }
    expect(client.watches.length).toBeLessThan(45);
    expect(client.watches.length).toBeGreaterThan(15);
    expect(client.listed()).toBe(1);
  });

  it('waits longer after each failure, 30 s at most, and briefly again after half a minute that was well', async () => {
    await follow({ random: () => 0.999 });
    const waits: number[] = [];
    for (let round = 0; round < 8; round += 1) {
      const before = client.watches.length;
      client.open().fail(failure('unavailable'));
      await settled();
      let waited = 0;
      for (; client.watches.length === before; waited += 100) await pass(100);
      waits.push(waited);
    }
    expect(waits).toEqual([800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
    clock.advance(30_000);
    client.open().fail(failure('unavailable'));
    await settled();
    await pass(800);
    expect(client.watches).toHaveLength(10);
  });

  it('is never blind for long behind what cuts each watch that is idle for a minute', async () => {
    await follow({ random: () => 0.999 });
    for (let round = 0; round < 20; round += 1) {
      const before = client.watches.length;
      clock.advance(60_000);
      client.open().fail(failure('unavailable'));
      await settled();
      await pass(800);
      expect(client.watches).toHaveLength(before + 1);
    }
  });

  it('lists again when a watch fails twice from the same version, since it may do so for ever', async () => {
    await follow();
    client.open().fail(failure('unavailable'));
    await settled();
    await pass(1000);
    expect(client.open().terms.resourceVersion).toBe('1');
    client.nextList(listOf('50'));
    client.open().fail(failure('unavailable'));
    await settled();
    await pass(2000);
    expect(client.open().terms.resourceVersion).toBe('50');
    expect(client.listed()).toBe(2);
  });

  it('stays in trouble while it can list and not watch', async () => {
    await follow();
    for (let round = 0; round < 5; round += 1) {
      client.open().fail(failure('forbidden'));
      await settled();
      await pass(30_000);
    }
    expect(follower.trouble()).toMatchObject({ kind: 'forbidden' });
    expect(log.lines).toHaveLength(1);
  });

  it('is told of in words that a person would use, also where it follows a whole namespace', async () => {
    await follow({ query: { resource: secrets, namespace: 'egress' } });
    for (let round = 0; round < 2; round += 1) {
      client.open().fail(failure('forbidden'));
      await settled();
      await pass(30_000);
    }
    expect(log.lines[0]?.fields).toMatchObject({ resource: 'secrets in namespace egress' });
  });

  it('waits as long as a busy server asks', async () => {
    await follow();
    client.open().fail(failure('too-many-requests', 20_000));
    await settled();
    await pass(19_900);
    expect(client.watches).toHaveLength(1);
    await pass(100);
    expect(client.watches).toHaveLength(2);
  });

  it('calls one failure no trouble, two in a row one, tells it once, and tells when it is over', async () => {
    await follow();
    client.open().fail(failure('unavailable'));
    await settled();
    expect(follower.trouble()).toBeUndefined();
    for (let round = 0; round < 3; round += 1) {
      await pass(30_000);
      client.open().fail(failure('forbidden'));
      await settled();
    }
    expect(follower.trouble()).toMatchObject({ kind: 'forbidden', message: 'it is forbidden' });
    await pass(30_000);
    client.open().terms.onOpen?.();
    expect(follower.trouble()).toBeUndefined();
    expect(log.lines.map(({ level }) => level)).toEqual(['warn', 'info']);
    expect(log.lines[0]?.fields).toMatchObject({ resource: 'secrets "egress/pool"', code: 'kube-forbidden' });
  });

  it('is in trouble from the start when it cannot list, and lists until it can', async () => {
    client.nextList(failure('forbidden'));
    await follow();
    expect(follower.trouble()).toMatchObject({ kind: 'forbidden' });
    expect(follower.isSynced()).toBe(false);
    client.nextList(listOf('5'));
    await pass(1000);
    expect(follower.isSynced()).toBe(true);
    expect(follower.trouble()).toBeUndefined();
  });

  it('outlives a handler that throws', async () => {
    client.nextList(listOf('10', secretAt('7')));
    await follow({
      onChange: () => {
        throw new Error('handler');
      },
    });
    put(secretAt('11'));
    expect(follower.get('pool', 'egress')?.metadata.resourceVersion).toBe('11');
    expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(2);
  });

  it('does not tell again what a second list shows unchanged', async () => {
    client.nextList(listOf('10', secretAt('7')));
    await follow();
    client.open().fail(failure('gone'));
    await settled();
    expect(told).toEqual(['put pool 7', 'synced']);
  });

  it('tells of an object that was made anew under the same name', async () => {
    client.nextList(listOf('10', secretAt('7')));
    await follow();
    client.nextList(listOf('11', { ...secretAt('7'), metadata: { ...secretAt('7').metadata, uid: 'u2' } }));
    client.open().fail(failure('gone'));
    await settled();
    expect(told).toEqual(['put pool 7', 'synced', 'put pool 7']);
  });

  it('ends when it is closed, in whatever it does, and leaves no timer', async () => {
    await follow();
    await follower.close();
    const duringList = createScriptedKubeClient();
    await follow({ client: { ...duringList, list: () => new Promise(() => undefined) } });
    await follower.close();
    client.nextList(failure('unavailable'));
    await follow();
    await follower.close();
    expect(clock.pendingTimers()).toBe(0);
    put(secretAt('1'));
    expect(told.filter((line) => line.startsWith('put'))).toEqual([]);
  });
});
