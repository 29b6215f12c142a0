import { expect, test } from 'vitest';
import { judgeStart } from '../../../src/projection/judge-start.ts';
import type { SourceProblem, SourceState } from '../../../src/projection/judge-volume.ts';
import { notWritten, volumeErrors } from '../../../src/projection/volume-errors.ts';
import { testError } from '../../support/projection-fakes.ts';

const source = { names: ['mitm'], path: 'ca.pem', form: 'PEM' } as const;
const current: SourceState = { source, isDone: true, kind: 'current' };
const heldBack: SourceState = { source, isDone: false, kind: 'held-back' };
const waiting = (isThere: boolean): SourceState => ({ source, isDone: false, kind: 'waiting', isThere });
const problem = (cause: SourceProblem['cause'], code = 'inner'): SourceProblem => ({
  ...{ cause, bundle: 'mitm' },
  error: testError(code, 'the innermost cause'),
});
const lacking = (...of: Parameters<typeof problem>): SourceState => {
  return { source, isDone: false, kind: 'lacking', problem: problem(...of) };
};
const kept = (...of: Parameters<typeof problem>): SourceState => {
  return { source, isDone: false, kind: 'kept', problem: problem(...of) };
};

type Case = readonly [title: string, sources: readonly SourceState[], terms: string, verdict: string];

test.each<Case>([
  ['all files are there', [current, current], '', 'done'],
  ['a bundle is not known yet', [current, waiting(false)], '', 'wait'],
  ['a bundle is not known yet, another is refused', [lacking('missing-object'), waiting(false)], '', 'wait'],
  ['a bundle never became known', [current, waiting(false)], 'late', 'trust-backend-unavailable'],
  ['a bundle never became known, and a file is there', [waiting(true)], 'late mayKeep', 'kept'],
  ['a bundle never became known, and files of now are wanted', [waiting(true)], 'late', 'trust-backend-unavailable'],
  ['an API does not answer yet', [heldBack, lacking('unavailable')], '', 'wait'],
  ['an API did not answer', [heldBack, lacking('unavailable')], 'late', 'trust-backend-unavailable'],
  ['a right is missing', [lacking('unavailable', 'bundle-access-missing')], '', 'trust-backend-unavailable'],
  ['no API is known', [lacking('unavailable', 'bundle-no-api')], '', 'trust-backend-unavailable'],
  ['a disk is full', [lacking('not-written')], '', 'wait'],
  ['a disk stays full', [lacking('not-written')], 'late', 'trust-file-not-written'],
  ['a name is unknown', [heldBack, lacking('unknown-name')], '', 'trust-name-unknown'],
  ['an object is missing', [heldBack, lacking('missing-object')], '', 'trust-object-missing'],
  ['a content is bad', [heldBack, lacking('unusable')], '', 'trust-content-unusable'],
  ['a content is bad, and a file is there', [current, kept('unusable')], 'mayKeep', 'kept'],
  ['a content is bad, and files of now are wanted', [current, kept('unusable')], '', 'trust-content-unusable'],
  ['an API does not answer yet, and a file is there', [kept('unavailable')], 'mayKeep', 'wait'],
  ['an API did not answer, and a file is there', [kept('unavailable')], 'mayKeep late', 'kept'],
  ['a name is unknown, although a file is there', [kept('unknown-name')], 'mayKeep', 'trust-name-unknown'],
  ['one file is there, another is not', [kept('unusable'), lacking('unusable')], 'mayKeep', 'trust-content-unusable'],
])('%s: %j %s', (_, sources, terms, expected) => {
  const verdict = judgeStart(
    { name: 'volume.yaml', sources },
    { mayKeep: terms.includes('mayKeep'), isLate: terms.includes('late') },
  );
  expect(verdict.kind === 'failed' ? verdict.problems.map(({ code }) => code)[0] : verdict.kind).toBe(expected);
});

const system = (code: string): Error => Object.assign(new Error(code), { code });
const unwritten = (error: SourceProblem['error']): SourceState => ({
  ...{ source, isDone: false, kind: 'lacking' },
  problem: { cause: 'not-written', bundle: 'mitm', error },
});

test.each(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENOMEM', 'EIO', 'EBUSY', 'ENOENT'])('%s may pass', (code) => {
  const sources = [unwritten(notWritten('/trust', system(code)))];
  expect(judgeStart({ name: 'volume.yaml', sources }, { mayKeep: false, isLate: false })).toEqual({ kind: 'wait' });
});

test.each([
  ...['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].map((code) => notWritten('/trust', system(code))),
  notWritten('/trust', new Error('the folder cannot be made', { cause: system('EROFS') })),
  notWritten('/trust', new Error('a file has that name')),
  ...(['volume-owner-refused', 'volume-entry-unsafe', 'volume-path-refused', 'nss-tool-missing'] as const).map((code) =>
    volumeErrors.error(code),
  ),
  ...(['nss-folder-shared', 'nss-database-unsafe'] as const).map((code) => volumeErrors.error(code)),
])('$code $fields.reason does not pass, and is refused at once', (error) => {
  const state = { name: 'volume.yaml', sources: [unwritten(error)] };
  expect(judgeStart(state, { mayKeep: false, isLate: false })).toMatchObject({
    problems: [{ code: 'trust-file-not-written', cause: error }],
  });
});

test('a failure names volume, path, bundle, the innermost cause and what to do, and all of them are said', () => {
  const verdict = judgeStart(
    { name: 'volume.yaml', sources: [lacking('missing-object'), current, lacking('unusable')] },
    { mayKeep: false, isLate: false },
  );
  const problems = verdict.kind === 'failed' ? verdict.problems : [];
  expect(problems.map(({ code }) => code)).toEqual(['trust-object-missing', 'trust-content-unusable']);
  for (const { message, remedy } of problems) {
    for (const part of ['volume.yaml', 'ca.pem', 'mitm', 'the innermost cause']) expect(message).toContain(part);
    expect(remedy).toBe('mend it');
  }
});
