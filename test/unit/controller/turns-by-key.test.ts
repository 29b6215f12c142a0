import { setImmediate as settled } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTurnsByKey } from '../../../src/controller/turns-by-key.ts';

test('work on one key comes one after the other, whatever became of the first, and other keys do not wait', async () => {
  const inTurn = createTurnsByKey();
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const work = (name: string) => (): Promise<string> => {
    begun.push(name);
    const end = Promise.withResolvers<string>();
    ends.set(name, end);
    return end.promise;
  };
  const first = inTurn('a', work('first'));
  const second = inTurn('a', work('second'));
  const other = inTurn('b', work('other'));
  await settled();
  expect(begun).toEqual(['first', 'other']);
  ends.get('first')?.reject(new Error('broken'));
  await expect(first).rejects.toThrow('broken');
  await settled();
  expect(begun).toEqual(['first', 'other', 'second']);
  ends.get('second')?.resolve('done');
  ends.get('other')?.resolve('done too');
  expect([await second, await other]).toEqual(['done', 'done too']);
});
