import { expect, test } from 'vitest';
import { followByName, type Follow } from '../../../src/controller/followed-objects.ts';
import { secrets } from '../../../src/controller/watched-kinds.ts';
import type { KubeFailure } from '../../../src/kube/kube-failure.ts';
import type { KubeObject, ObjectPlace } from '../../../src/kube/kube-types.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const place = (name: string): ObjectPlace => ({ resource: secrets, namespace: 'egress', name });
const objectOf = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'egress' },
});
const failureOf = (kind: KubeFailure['kind']): KubeFailure => ({
  kind,
  message: `${kind}, said the server`,
  causes: [],
});

type FakeFollower = {
  object: KubeObject | undefined;
  isSynced: boolean;
  trouble: KubeFailure | undefined;
  isClosed: boolean;
  changed: () => void;
};

function createWorld() {
  const clock = createFakeClock();
  const told: string[] = [];
  const opened = new Map<string, FakeFollower>();
  const follow: Follow = ({ name = '' }, changed) => {
    const follower: FakeFollower = { object: undefined, isSynced: false, trouble: undefined, isClosed: false, changed };
    opened.set(name, follower);
    return {
      get: () => follower.object,
      isSynced: () => follower.isSynced,
      trouble: () => follower.trouble,
      close: () => {
        follower.isClosed = true;
        return Promise.resolve();
      },
    };
  };
  const followed = followByName({ follow, clock, changed: (owner) => told.push(owner) });
  const follower = (name: string): FakeFollower => {
    const found = opened.get(name);
    if (found === undefined) throw new Error(`${name} is not followed`);
    return found;
  };
  return { clock, told, opened, followed, follower };
}

test('an object that two gateways use is followed once, and let go of with the second of them', () => {
  const { followed, opened, follower } = createWorld();
  followed.hold('a', [place('pool')]);
  followed.hold('b', [place('pool'), place('serving')]);
  expect([...opened.keys()]).toEqual(['pool', 'serving']);
  followed.release('a');
  expect(follower('pool').isClosed).toBe(false);
  followed.hold('b', [place('serving')]);
  expect(follower('pool').isClosed).toBe(true);
  expect(follower('serving').isClosed).toBe(false);
});

test('whoever holds an object is told when it changes, nobody else', () => {
  const { followed, told, follower } = createWorld();
  followed.hold('a', [place('pool')]);
  followed.hold('b', [place('pool')]);
  followed.hold('c', [place('serving')]);
  follower('pool').isSynced = true;
  follower('pool').changed();
  expect(told).toEqual(['a', 'b']);
});

test('an object is awaited, absent or found, by what its follower has seen', () => {
  const { followed, follower } = createWorld();
  expect(followed.look(place('pool'))).toEqual({ kind: 'pending' });
  followed.hold('a', [place('pool')]);
  expect(followed.look(place('pool'))).toEqual({ kind: 'pending' });
  follower('pool').isSynced = true;
  expect(followed.look(place('pool'))).toEqual({ kind: 'absent' });
  follower('pool').object = objectOf('pool');
  expect(followed.look(place('pool'))).toEqual({ kind: 'found', object: objectOf('pool') });
  expect(followed.counts()).toEqual({ found: 1, absent: 0, pending: 0, unavailable: 0 });
});

test('what is forbidden is unavailable at once, its owner is told within a second, and again when it heals', () => {
  const { clock, followed, told, follower } = createWorld();
  followed.hold('a', [place('pool')]);
  follower('pool').trouble = failureOf('forbidden');
  clock.advance(1000);
  expect(told).toEqual(['a']);
  expect(followed.look(place('pool'))).toEqual({ kind: 'unavailable', failure: failureOf('forbidden') });
  clock.advance(60_000);
  expect(told).toEqual(['a']);
  follower('pool').trouble = undefined;
  follower('pool').isSynced = true;
  clock.advance(1000);
  expect(told).toEqual(['a', 'a']);
});

test('a view that was good stays for a minute while the API has passing trouble', () => {
  const { clock, followed, follower } = createWorld();
  followed.hold('a', [place('pool')]);
  follower('pool').isSynced = true;
  follower('pool').object = objectOf('pool');
  clock.advance(1000);
  follower('pool').trouble = failureOf('unavailable');
  expect(followed.look(place('pool')).kind).toBe('found');
  clock.advance(59_000);
  expect(followed.look(place('pool')).kind).toBe('found');
  clock.advance(2000);
  expect(followed.look(place('pool')).kind).toBe('unavailable');
  follower('pool').trouble = undefined;
  expect(followed.look(place('pool')).kind).toBe('found');
});

test('everything is let go of when all ends, and nothing is looked at any more', async () => {
  const { clock, followed, told, follower } = createWorld();
  followed.hold('a', [place('pool')]);
  await followed.close();
  expect(follower('pool').isClosed).toBe(true);
  clock.advance(10_000);
  expect(told).toEqual([]);
  expect(clock.pendingTimers()).toBe(0);
});
