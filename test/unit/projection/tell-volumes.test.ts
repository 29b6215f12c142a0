import { expect, test } from 'vitest';
import type { SourceProblem, SourceState } from '../../../src/projection/judge-volume.ts';
import { openVolumeBook } from '../../../src/projection/tell-volumes.ts';
import { createMetrics } from '../../../src/observe/create-metrics.ts';
import type { LogFields } from '../../../src/observe/log.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { recordingLog } from '../../support/recording-log.ts';
import { testError } from '../../support/projection-fakes.ts';

const source = { names: ['mitm'], path: 'ca.pem', form: 'PEM' } as const;
const current: SourceState = { source, isDone: true, kind: 'current' };
const bad = (code: string, detail = code): SourceProblem => ({
  ...{ cause: 'unusable', bundle: 'mitm' },
  error: testError(code, detail),
});
const kept = (code: string, detail?: string): SourceState => {
  return { source, isDone: true, kind: 'kept', problem: bad(code, detail) };
};
const lacking = (code: string): SourceState => ({ source, isDone: false, kind: 'lacking', problem: bad(code) });

function openBook() {
  const { log, lines } = recordingLog();
  const clock = createFakeClock();
  const metrics = createMetrics({ withProcessMetrics: false });
  const book = openVolumeBook({ log, clock, metrics });
  const judge = (name: string, ...sources: readonly SourceState[]): void => book.judged({ name, sources }, 0);
  const told = (): readonly string[] => lines.splice(0).map(({ sentence, fields }) => `${sentence}${shown(fields)}`);
  const sample = async (text: string): Promise<number> => {
    const line = (await metrics.render()).split('\n').find((one) => one.startsWith(`${text} `));
    return Number(line?.slice(text.length + 1) ?? Number.NaN);
  };
  return { book, clock, judge, told, sample };
}

function shown({ volume, code }: LogFields): string {
  return [volume, code].map((field) => (field === undefined ? '' : ` ${field}`)).join('');
}

test('a bundle that turns bad is told once for all actors, and once when it is good for all again', () => {
  const { judge, told } = openBook();
  for (const name of ['a', 'b', 'c']) judge(name, current);
  for (const name of ['a', 'b', 'c']) judge(name, kept('rotten'));
  for (const name of ['a', 'b', 'c']) judge(name, kept('rotten', 'in other words'));
  expect(told()).toEqual(['the last good trust files of a bundle stay a rotten']);
  for (const name of ['a', 'b']) judge(name, current);
  expect(told()).toEqual([]);
  judge('c', current);
  expect(told()).toEqual(['the trust files of a bundle follow it again']);
});

test('another cause is news, and no recovery', () => {
  const { judge, told } = openBook();
  judge('a', kept('rotten'));
  judge('a', kept('gone'));
  expect(told()).toEqual([
    'the last good trust files of a bundle stay a rotten',
    'the last good trust files of a bundle stay a gone',
  ]);
});

test('a file that cannot be had at all is told for each actor, once for each cause', () => {
  const { judge, told } = openBook();
  for (const name of ['a', 'a', 'b']) judge(name, lacking('rotten'));
  judge('a', lacking('gone'));
  const sentence = 'a trust file cannot be written';
  expect(told()).toEqual([`${sentence} a rotten`, `${sentence} b rotten`, `${sentence} a gone`]);
});

test('an actor that leaves takes its counts along, and is no recovery', async () => {
  const { book, judge, told, sample } = openBook();
  judge('a', kept('rotten'), { ...current, source: { ...source, path: 'other.pem' } });
  told();
  expect(await sample('leafgate_projection_sources{state="kept"}')).toBe(1);
  book.removed('a');
  expect(told()).toEqual(['the trust files of a volume were taken away a']);
  expect(await sample('leafgate_projection_sources{state="kept"}')).toBe(0);
  expect(await sample('leafgate_projection_volumes')).toBe(0);
  book.removed('never known');
  expect(told()).toEqual([]);
});

test('a path that a volume no longer has is no longer counted', async () => {
  const { judge, sample } = openBook();
  judge('a', kept('rotten'), { ...current, source: { ...source, path: 'other.pem' } });
  judge('a', current);
  expect(await sample('leafgate_projection_sources{state="kept"}')).toBe(0);
  expect(await sample('leafgate_projection_sources{state="current"}')).toBe(1);
});

test('refusals are counted by cause when they come, not at each look', async () => {
  const { judge, sample } = openBook();
  for (const state of [kept('rotten'), kept('rotten'), current, kept('rotten')]) judge('a', state);
  expect(await sample('leafgate_projection_refusals_total{cause="unusable"}')).toBe(2);
});

test('written files are counted, with the time of the last one, and a thousand of them are no thousand lines', async () => {
  const { book, clock, told, sample } = openBook();
  for (let count = 0; count < 1000; count += 1) book.judged({ name: `a${count}`, sources: [current] }, 2);
  expect(await sample('leafgate_projection_files_written_total')).toBe(2000);
  expect(await sample('leafgate_projection_last_write_seconds')).toBe(clock.now() / 1000);
  expect(told()).toEqual(['trust files were written a0']);
});

test('whoever listens hears of each look', () => {
  const { book, judge } = openBook();
  let heard = 0;
  book.onChange(() => (heard += 1));
  judge('a', current);
  judge('a', current);
  expect(heard).toBe(2);
});
