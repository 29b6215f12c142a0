// Turns: who waits for whom, what a turn may cost, and what happens to what waited too long.
import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/clock.ts';
import type { DurationMs } from '../../../src/clock.ts';
import { FairTurns } from '../../../src/sds/fair-turns.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import type { FakeClock } from '../../support/fake-clock.ts';

/** owners are compared by identity */
type Owner = { readonly name: string };
type Job = { readonly label: string; readonly dueAt: DurationMs };

const [one, two, three] = ['1', '2', '3'].map((name) => ({ name })) as [Owner, Owner, Owner];

function start(perTurn: number, pauseMs = 0) {
  const clock = createFakeClock();
  const done: string[] = [];
  const turns: FairTurns<Owner, Job> = new FairTurns(
    clock,
    { perTurn, pauseMs: millis(pauseMs) },
    {
      run: ({ name }, { label }) => {
        if (label.startsWith('dead')) return 0;
        done.push(`${name}${label}`);
        if (label === 'park') turns.park(one);
        if (label === 'drop') turns.drop(one);
        if (label === 'again') turns.add(one, job('done'));
        return label === 'large' ? 2 : 1;
      },
      deadline: {
        dueAt: ({ dueAt }) => dueAt,
        letGo: ({ name }, { label }) => {
          if (label.startsWith('dead')) return false;
          done.push(`-${name}${label}`);
          return true;
        },
        perTurn: 2,
      },
    },
  );
  return { clock, done, turns, next: () => nextTurn(clock, done) };
}

function job(label: string, dueAt = 1_000_000): Job {
  return { label, dueAt: millis(dueAt) };
}

/** what one turn did */
function nextTurn(clock: FakeClock, done: string[]): readonly string[] {
  const before = done.length;
  clock.advanceToNext();
  return done.slice(before);
}

describe('turns', () => {
  it('do a few jobs each, with a pause between, and dead jobs take no place', () => {
    const { clock, done, turns } = start(2, 20);
    for (const label of ['a', 'dead', 'b', 'dead', 'c', 'd', 'e']) turns.add(one, job(label));
    clock.advance(19);
    expect(done).toEqual([]);
    clock.advance(1);
    expect(done).toEqual(['1a', '1b']);
    turns.add(one, job('f'));
    clock.advance(20);
    expect(done).toEqual(['1a', '1b', '1c', '1d']);
    clock.advance(20);
    expect(done).toEqual(['1a', '1b', '1c', '1d', '1e', '1f']);
    clock.advance(20);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('serve the lines in rotation, each in its order, so that a long line delays only itself', () => {
    const { turns, next } = start(4);
    for (let index = 0; index < 1000; index += 1) turns.add(one, job(`${index}`));
    for (const label of ['a', 'b', 'c']) turns.add(two, job(label));
    turns.add(three, job('x'));
    expect(next()).toEqual(['10', '2a', '3x', '11']);
    expect(next()).toEqual(['2b', '12', '2c', '13']);
    expect(next()).toEqual(['14', '15', '16', '17']);
  });

  it('count a job for as many places as it cost', () => {
    const { turns, next } = start(4);
    for (const label of ['large', 'large', 'a', 'b']) turns.add(one, job(label));
    expect(next()).toEqual(['1large', '1large']);
    expect(next()).toEqual(['1a', '1b']);
  });

  it('end after many dead jobs, however many there are', () => {
    const { turns, next, done } = start(4);
    for (let index = 0; index < 10_000; index += 1) turns.add(one, job('dead'));
    turns.add(one, job('a'));
    expect([next(), next()]).toEqual([[], []]);
    expect(next()).toEqual(['1a']);
    expect(done).toHaveLength(1);
  });

  it('do a job at once while nobody waits and places are left, which come back in the next turn only', () => {
    const { clock, turns, done, next } = start(2);
    for (const label of ['a', 'b', 'c', 'd', 'e']) turns.addOrRun(one, job(label));
    expect(done).toEqual(['1a', '1b']);
    expect(next()).toEqual(['1c', '1d']);
    turns.addOrRun(two, job('x'));
    expect(done).toHaveLength(4);
    expect(next()).toEqual(['1e', '2x']);
    expect(next()).toEqual([]);
    turns.addOrRun(two, job('y'));
    expect(done.at(-1)).toBe('2y');
    clock.advance(0);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('take up what a job adds, and leave alone a line that a job parks or drops', () => {
    const { turns, next } = start(9);
    for (const label of ['again', 'park', 'a']) turns.add(one, job(label));
    turns.add(two, job('x'));
    expect(next()).toEqual(['1again', '2x', '1park']);
    expect(next()).toEqual([]);
    turns.unpark(one);
    expect(next()).toEqual(['1a', '1done']);
    for (const label of ['drop', 'b']) turns.add(one, job(label));
    expect(next()).toEqual(['1drop']);
    expect(next()).toEqual([]);
  });

  it('let a parked line stand still, in which even what is late waits, and go on with it in its order', () => {
    const { clock, turns, done, next } = start(9);
    turns.park(one);
    turns.addOrRun(one, job('a', 50));
    turns.add(one, job('b'));
    turns.add(two, job('x'));
    clock.advance(100);
    expect(done).toEqual(['2x']);
    turns.unpark(one);
    expect(next()).toEqual(['1b', '-1a']);
    turns.park(one);
    turns.unpark(one);
    turns.addOrRun(one, job('c'));
    expect(done.at(-1)).toBe('1c');
  });

  it('stop', () => {
    const { clock, turns, done } = start(1);
    turns.add(one, job('a'));
    turns.stop();
    clock.advance(100);
    expect(done).toEqual([]);
    expect(clock.pendingTimers()).toBe(0);
  });
});

describe('a job whose time is over', () => {
  it('is let go beside those that can still be served and takes no place of theirs', () => {
    const { clock, turns, next } = start(2, 20);
    for (const label of ['a', 'b', 'c']) turns.add(one, job(label, 10));
    for (const label of ['d', 'e', 'f']) turns.add(one, job(label, 1000));
    turns.add(two, job('x', 10));
    turns.add(two, job('y', 1000));
    clock.advance(15);
    expect(next()).toEqual(['1d', '2y', '-1a', '-2x']);
    expect(next()).toEqual(['1e', '1f', '-1b', '-1c']);
    expect(next()).toEqual([]);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('is never done at once', () => {
    const { clock, turns, done, next } = start(2);
    clock.advance(100);
    turns.addOrRun(one, job('a', 100));
    expect(done).toEqual([]);
    expect(next()).toEqual(['-1a']);
  });

  it('costs nothing when nobody waits for it any more', () => {
    const { clock, turns, next } = start(2, 20);
    for (const label of ['dead', 'dead', 'dead', 'a', 'b', 'c']) turns.add(one, job(label, 10));
    clock.advance(15);
    expect(next()).toEqual(['-1a', '-1b']);
    expect(next()).toEqual(['-1c']);
  });

  it('is sorted out in turns too, however many there are', () => {
    const { clock, turns, next } = start(1, 20);
    for (let index = 0; index < 10_000; index += 1) turns.add(one, job('dead', 10));
    turns.add(one, job('a'));
    clock.advance(15);
    expect([next(), next()]).toEqual([[], []]);
    expect(next()).toEqual(['1a']);
  });
});
