import { setImmediate as settled } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { seconds } from '../../../src/clock.ts';
import { createVolumeKeeper, type VolumeState } from '../../../src/projection/keep-volumes.ts';
import type { TrustForm, TrustVolume } from '../../../src/settings/trust-volume.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import {
  createFakeResolver,
  createFakeWriter,
  pending,
  refusal,
  testError,
  type FakeWriter,
} from '../../support/projection-fakes.ts';

function volumeOf(files: Readonly<Record<string, string>>, form: TrustForm = 'PEM'): TrustVolume {
  return { sources: Object.entries(files).map(([path, names]) => ({ path, form, names: names.split(' ') })) };
}

function createWorld(answers: Parameters<typeof createFakeResolver>[0] = { a: 'A', b: 'B' }) {
  const writers = new Map<string, FakeWriter>();
  const states = new Map<string, VolumeState>();
  const told: string[] = [];
  const clock = createFakeClock();
  const writer = (name: string): FakeWriter => {
    const known = writers.get(name) ?? createFakeWriter();
    writers.set(name, known);
    return known;
  };
  const keeper = createVolumeKeeper({
    ...{ clock, random: () => 0, openWriter: writer },
    events: {
      judged: (state, written) => {
        states.set(state.name, state);
        if (written > 0) told.push(`${state.name} ${written}`);
      },
      removed: (name) => void told.push(`${name} removed`),
      failed: (name, { code }) => void told.push(`${name} ${code}`),
    },
  });
  const resolver = createFakeResolver(answers);
  return {
    ...{ keeper, resolver, clock, told, writer },
    start: async () => {
      await keeper.use(resolver);
      await settle();
    },
    kinds: (name: string) =>
      states
        .get(name)
        ?.sources.map(({ kind, isDone }) => (isDone ? kind : `${kind}!`))
        .join(),
    disk: (name: string) => Object.fromEntries([...writer(name).disk].map(([path, { text }]) => [path, text])),
  };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await settled();
}

test('each file of a volume is written as its bundles are, and again when they change', async () => {
  const { keeper, resolver, start, disk, told } = createWorld();
  keeper.put('x', volumeOf({ one: 'a', both: 'a b' }));
  await start();
  expect(disk('x')).toEqual({ one: 'A', both: 'AB' });
  resolver.say({ b: 'BB' });
  await settle();
  expect(disk('x')).toEqual({ one: 'A', both: 'ABB' });
  expect(told).toEqual(['x 2', 'x 1']);
});

test('a file that somebody takes away is written again within 40 seconds, and nothing else is', async () => {
  const { keeper, start, disk, told, writer, clock } = createWorld();
  keeper.put('x', volumeOf({ one: 'a', two: 'b' }));
  keeper.put('y', volumeOf({ one: 'a' }));
  await start();
  writer('x').disk.delete('one');
  clock.advance(seconds(40));
  await settle();
  expect(disk('x')).toEqual({ one: 'A', two: 'B' });
  expect(told).toEqual(['x 2', 'y 1', 'x 1']);
});

test('a change that gives the same text writes nothing', async () => {
  const { keeper, resolver, start, writer } = createWorld();
  keeper.put('x', volumeOf({ one: 'a' }));
  await start();
  resolver.say({ a: 'A' });
  resolver.say({ b: 'BB' });
  await settle();
  expect(writer('x').calls).toEqual(['write one']);
});

test.each(['unknown-name', 'missing-object', 'unavailable', 'unusable'] as const)(
  'nothing of a new volume is written while one of its bundles is refused: %s',
  async (cause) => {
    const { keeper, resolver, start, disk, kinds } = createWorld({ a: 'A', b: refusal(cause, 'b') });
    keeper.put('x', volumeOf({ one: 'a', two: 'b' }));
    await start();
    expect([disk('x'), kinds('x')]).toEqual([{}, 'held-back!,lacking!']);
    resolver.say({ b: 'B' });
    await settle();
    expect([disk('x'), kinds('x')]).toEqual([{ one: 'A', two: 'B' }, 'current,current']);
  },
);

test('a bundle that turns bad leaves its last good file, and the other files follow theirs', async () => {
  const { keeper, resolver, start, disk, kinds } = createWorld();
  keeper.put('x', volumeOf({ one: 'a', two: 'b' }));
  await start();
  resolver.say({ a: refusal('missing-object', 'a'), b: 'BB' });
  await settle();
  expect([disk('x'), kinds('x')]).toEqual([{ one: 'A', two: 'BB' }, 'kept,current']);
  resolver.say({ a: 'AA' });
  await settle();
  expect([disk('x'), kinds('x')]).toEqual([{ one: 'AA', two: 'BB' }, 'current,current']);
});

test('after a restart the files of before are rewritten where they can be, and kept, but not done, where they cannot', async () => {
  const { keeper, resolver, start, disk, kinds, writer } = createWorld({ a: 'A', b: refusal('unavailable', 'b') });
  writer('x').disk.set('one', { form: 'PEM', text: 'old' }).set('two', { form: 'PEM', text: 'old' });
  keeper.put('x', volumeOf({ one: 'a', two: 'b' }));
  await start();
  expect([disk('x'), kinds('x')]).toEqual([{ one: 'A', two: 'old' }, 'current,kept!']);
  resolver.say({ b: 'B' });
  await settle();
  expect([disk('x'), kinds('x')]).toEqual([{ one: 'A', two: 'B' }, 'current,current']);
});

test('a file of another form at the same path is no file to keep', async () => {
  const { keeper, start, kinds, writer } = createWorld({ a: refusal('unavailable', 'a') });
  writer('x').disk.set('one', { form: 'PEM', text: 'old' });
  keeper.put('x', volumeOf({ one: 'a' }, 'NSS'));
  await start();
  expect(kinds('x')).toBe('lacking!');
});

test('the same bundle in another form at the same path is written', async () => {
  const { keeper, start, writer } = createWorld();
  keeper.put('x', volumeOf({ one: 'a' }));
  await start();
  keeper.put('x', volumeOf({ one: 'a' }, 'PKCS12'));
  await settle();
  expect(writer('x').disk.get('one')).toEqual({ form: 'PKCS12', text: 'A' });
});

test('a volume whose bundles are not known yet waits, and keeps what is there', async () => {
  const { keeper, resolver, start, disk, kinds, writer } = createWorld({ a: pending });
  writer('x').disk.set('one', { form: 'PEM', text: 'old' });
  keeper.put('x', volumeOf({ one: 'a' }));
  await start();
  expect([disk('x'), kinds('x')]).toEqual([{ one: 'old' }, 'waiting!']);
  resolver.say({ a: 'A' });
  await settle();
  expect(disk('x')).toEqual({ one: 'A' });
});

test('what a changed volume no longer asks for goes once all that it asks for is there', async () => {
  const { keeper, resolver, start, disk, writer } = createWorld({ a: 'A' });
  keeper.put('x', volumeOf({ old: 'a' }));
  await start();
  keeper.put('x', volumeOf({ new: 'b' }));
  await settle();
  expect(disk('x')).toEqual({ old: 'A' });
  resolver.say({ b: 'B' });
  await settle();
  expect(disk('x')).toEqual({ new: 'B' });
  expect(writer('x').calls).toEqual(['write old', 'write new', 'remove old']);
});

test('a file that cannot be written is tried again, ever later, and holds up no other', async () => {
  const { keeper, clock, start, disk, kinds, writer } = createWorld();
  writer('x').broken.set('one', testError('disk-full'));
  keeper.put('x', volumeOf({ one: 'a', two: 'b' }));
  keeper.put('y', volumeOf({ one: 'a' }));
  await start();
  expect([disk('x'), kinds('x'), kinds('y')]).toEqual([{ two: 'B' }, 'lacking!,current', 'current']);
  writer('x').broken.clear();
  clock.advance(399);
  await settle();
  expect(kinds('x')).toBe('lacking!,current');
  clock.advance(1);
  await settle();
  expect(disk('x')).toEqual({ one: 'A', two: 'B' });
  // for each volume the look for what somebody takes away
  expect(clock.pendingTimers()).toBe(2);
  await keeper.close();
  expect(clock.pendingTimers()).toBe(0);
});

test('a file that cannot be written again stays as it last was', async () => {
  const { keeper, resolver, start, disk, kinds, writer } = createWorld();
  keeper.put('x', volumeOf({ one: 'a' }));
  await start();
  writer('x').broken.set('one', testError('disk-full'));
  resolver.say({ a: 'AA' });
  await settle();
  expect([disk('x'), kinds('x')]).toEqual([{ one: 'A' }, 'kept']);
});

test('a removed volume is taken away, also one that only an earlier run knew, and one that comes back is written anew', async () => {
  const { keeper, start, disk, told, writer } = createWorld();
  writer('old').disk.set('one', { form: 'PEM', text: 'old' });
  keeper.put('x', volumeOf({ one: 'a' }));
  keeper.remove('old');
  await start();
  keeper.remove('x');
  await settle();
  expect([disk('x'), disk('old')]).toEqual([{}, {}]);
  keeper.put('x', volumeOf({ one: 'a' }));
  await settle();
  expect(disk('x')).toEqual({ one: 'A' });
  expect(told.sort()).toEqual(['old removed', 'x 1', 'x 1', 'x removed']);
});

test('what cannot be taken away is tried again', async () => {
  const { keeper, clock, start, told, writer } = createWorld();
  await start();
  writer('x').broken.set('', testError('busy'));
  keeper.remove('x');
  await settle();
  writer('x').broken.clear();
  clock.advance(400);
  await settle();
  expect(told).toEqual(['x busy', 'x removed']);
});

test('a change that comes while a volume is being written is not lost', async () => {
  const { keeper, resolver, start, disk, writer } = createWorld();
  const held = Promise.withResolvers<void>();
  writer('x').hold = held.promise;
  keeper.put('x', volumeOf({ one: 'a' }));
  await start();
  resolver.say({ a: 'AA' });
  resolver.say({ a: 'AAA' });
  held.resolve();
  await settle();
  expect(disk('x')).toEqual({ one: 'AAA' });
  expect(writer('x').calls).toEqual(['write one', 'write one']);
});

test('a new volume is written before a thousand others are looked at again', async () => {
  const { keeper, resolver, start, told, writer } = createWorld();
  for (let count = 0; count < 1000; count += 1) keeper.put(`x${count}`, volumeOf({ one: 'a' }));
  await start();
  const held = Promise.withResolvers<void>();
  for (let count = 0; count < 1000; count += 1) writer(`x${count}`).hold = held.promise;
  told.length = 0;
  resolver.say({ a: 'AA' });
  keeper.put('new', volumeOf({ one: 'a' }));
  held.resolve();
  await settle();
  expect(told.indexOf('new 1')).toBeLessThan(40);
  expect(told.length).toBe(1001);
});

test('another list of bundles is in force for all, and the resolver of the earlier one is closed and no longer heard', async () => {
  const { keeper, resolver, start, disk } = createWorld();
  keeper.put('x', volumeOf({ one: 'a' }));
  await start();
  const next = createFakeResolver({ a: 'other' });
  await keeper.use(next);
  await settle();
  expect([disk('x'), resolver.isClosed()]).toEqual([{ one: 'other' }, true]);
  resolver.say({ a: 'late' });
  await settle();
  expect(disk('x')).toEqual({ one: 'other' });
});

test('closing waits for what is being written, and writes nothing more', async () => {
  const { keeper, resolver, start, writer } = createWorld();
  const held = Promise.withResolvers<void>();
  writer('x').hold = held.promise;
  keeper.put('x', volumeOf({ one: 'a' }));
  await start();
  let isClosed = false;
  const closing = keeper.close().then(() => (isClosed = true));
  resolver.say({ a: 'AA' });
  await settle();
  expect(isClosed).toBe(false);
  held.resolve();
  await closing;
  expect(writer('x').calls).toEqual(['write one']);
  expect(resolver.isClosed()).toBe(true);
});

test('a folder that cannot be looked into is told of by the files that cannot be written there', async () => {
  const { keeper, resolver, start, writer, kinds, told, clock, disk } = createWorld({ a: pending });
  const noFolder = testError('no-folder', 'x is no folder');
  writer('x').broken.set('sweep', noFolder).set('one', noFolder);
  keeper.put('x', volumeOf({ one: 'a' }));
  await start();
  resolver.say({ a: 'A' });
  await settle();
  expect(kinds('x')).toBe('lacking!');
  expect(told).toEqual([]);
  writer('x').broken.clear();
  clock.advanceToNext();
  await settle();
  expect(kinds('x')).toBe('current');
  expect(disk('x')).toEqual({ one: 'A' });
});
