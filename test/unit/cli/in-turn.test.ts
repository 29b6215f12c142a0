import { expect, test } from 'vitest';
import { inTurn } from '../../../src/cli/in-turn.ts';

test('one task runs at a time, and of those that waited only the newest', async () => {
  const events: string[] = [];
  let release: () => void = () => undefined;
  const first = new Promise<void>((done) => (release = done));
  const publish = inTurn(async (name: string) => {
    events.push(`${name} begins`);
    if (name === 'a') await first;
    events.push(`${name} ends`);
  });
  const all = [publish('a')];
  await Promise.resolve();
  await Promise.resolve();
  all.push(publish('b'), publish('c'));
  release();
  await Promise.all(all);
  expect(events).toEqual(['a begins', 'a ends', 'c begins', 'c ends']);
});

test('a task that failed does not keep the next one from running', async () => {
  const publish = inTurn((name: string) => (name === 'bad' ? Promise.reject(new Error('no')) : Promise.resolve()));
  await expect(publish('bad')).rejects.toThrow('no');
  await expect(publish('good')).resolves.toBeUndefined();
});
