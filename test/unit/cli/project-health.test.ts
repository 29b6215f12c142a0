import { expect, test } from 'vitest';
import { seconds, type DurationMs } from '../../../src/clock.ts';
import { createProjectHealth } from '../../../src/cli/project-health.ts';
import type { SourceProblem, SourceState } from '../../../src/projection/judge-volume.ts';
import type { VolumeState } from '../../../src/projection/keep-volumes.ts';
import { testError } from '../../support/projection-fakes.ts';

const source = { names: ['mitm'], path: 'ca.pem', form: 'PEM' } as const;
const current: SourceState = { source, isDone: true, kind: 'current' };
const waiting: SourceState = { source, isDone: false, kind: 'waiting', isThere: false };
const problem = (cause: SourceProblem['cause']): SourceProblem => ({
  ...{ cause, bundle: 'mitm', error: testError('inner', 'the innermost cause') },
});
const lacking = (cause: SourceProblem['cause']): SourceState => {
  return { source, isDone: false, kind: 'lacking', problem: problem(cause) };
};
const kept = (isDone: boolean): SourceState => ({ source, isDone, kind: 'kept', problem: problem('unusable') });

function createWorld(initial?: readonly string[]) {
  const states = new Map<string, VolumeState>();
  const troubles: string[] = [];
  const age: { ms: DurationMs | undefined } = { ms: undefined };
  const health = createProjectHealth({
    book: { state: (name) => states.get(name), states: () => states.values() },
    initial: () => initial && new Set(initial),
    troubles: () => troubles,
    viewAge: () => age.ms,
  });
  const judge = (name: string, ...sources: readonly SourceState[]) => void states.set(name, { name, sources });
  return { ...health, judge, troubles, age };
}

test('not ready before anybody knows which volumes there are', () => {
  expect(createWorld().ready()).toEqual({ isOk: false, reasons: ['the volumes are being looked at'] });
});

test('ready once the files of all volumes of the start are there, and until then it says which are not', () => {
  const { ready, judge } = createWorld(['a', 'b', 'c']);
  judge('a', current);
  judge('b', waiting);
  expect(ready()).toEqual({ isOk: false, reasons: ['b: ca.pem waits for mitm', 'c: not looked at yet'] });
  judge('b', current);
  judge('c', current);
  expect(ready()).toEqual({ isOk: true, reasons: [] });
});

test.each(['missing-object', 'unavailable', 'unusable', 'not-written'] as const)(
  'a file that cannot be had keeps a start from being ready: %s',
  (cause) => {
    const { ready, judge } = createWorld(['a']);
    judge('a', lacking(cause));
    const { isOk, reasons } = ready();
    expect(isOk).toBe(false);
    expect(reasons.join()).toContain('the innermost cause');
  },
);

test('a file of an earlier run is no file of this one: not ready', () => {
  const { ready, judge } = createWorld(['a']);
  judge('a', kept(false));
  expect(ready()).toMatchObject({ isOk: false, reasons: [expect.stringContaining('the last good file stays')] });
});

test('what an actor asks for that it may not have is told, and does not make an agent unready', () => {
  const { ready, judge } = createWorld(['a', 'b']);
  judge('a', lacking('unknown-name'));
  judge('b', current);
  expect(ready()).toMatchObject({ isOk: true, reasons: [expect.stringContaining('a: ca.pem')] });
});

test('what fails after the start is told, and does not make it unready', () => {
  const { ready, judge, troubles } = createWorld(['a']);
  judge('a', current);
  expect(ready().isOk).toBe(true);
  judge('a', kept(true));
  judge('new', lacking('unavailable'));
  troubles.push('the list of bundles is wrong');
  const { isOk, reasons } = ready();
  expect(isOk).toBe(true);
  expect(reasons).toHaveLength(3);
});

test('a thousand problems are a page for people', () => {
  const { ready, judge } = createWorld([]);
  for (let count = 0; count < 1000; count += 1) judge(`a${count}`, lacking('unusable'));
  expect(ready().reasons).toHaveLength(21);
  expect(ready().reasons.at(-1)).toBe('and 980 more');
});

test('the status says how old the view of the cluster is, where bundles come from there', () => {
  const { status, age } = createWorld([]);
  expect(status()).not.toHaveProperty('bundleViewAgeSeconds');
  age.ms = seconds(301);
  expect(status()).toMatchObject({ bundleViewAgeSeconds: 301 });
});

test('the status has every file of every volume, with its cause', () => {
  const { status, judge } = createWorld(['a']);
  judge('a', current, { ...kept(true), source: { ...source, path: 'all.pem' } });
  expect(status()).toEqual({
    volumes: {
      a: {
        'ca.pem': { state: 'current', isDone: true },
        'all.pem': {
          ...{ state: 'kept', isDone: true, cause: 'unusable', bundle: 'mitm' },
          ...{ code: 'inner', detail: 'the innermost cause' },
        },
      },
    },
    troubles: [],
  });
});
