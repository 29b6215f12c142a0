import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { gatherPool, gatherSocketPath, gatherState } from '../../../../src/cli/doctor/gather-state.ts';
import { knownState, openStateFolder, type StateFolder } from '../../../../src/cli/state-folder.ts';
import { takeLock } from '../../../../src/cli/state-lock.ts';
import { days, epoch, plus, systemClock, type EpochMs } from '../../../../src/clock.ts';
import { createPool } from '../../../../src/pool/create-pool.ts';
import { foundIn } from '../../../support/found-problems.ts';
import { createTempFolder, type TempFolder } from '../../../support/temp-folder.ts';

let temp: TempFolder;
let state: StateFolder;
beforeEach(async () => {
  temp = createTempFolder();
  ({ state } = await openStateFolder(temp.file('state'), systemClock));
});
afterEach(() => temp.remove());

const stateProblems = (at = state): readonly string[] => foundIn({ state: gatherState(at), now: systemClock.now() });
const poolProblems = async (now: EpochMs = systemClock.now()): Promise<readonly string[]> => {
  const { facts } = await gatherPool(state, now, false);
  return foundIn({ pool: facts, now });
};
const writePool = (now: EpochMs, change: (pool: Record<string, unknown>) => object = (pool) => pool): void => {
  const bytes = createPool({ now, randomBytes: (count) => randomBytes(count) }).reveal();
  const parsed = JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>;
  writeFileSync(state.poolFile, JSON.stringify(change(parsed)));
};

describe('a state folder', () => {
  test('that `up` has made has nothing wrong with it, and is left as it is', () => {
    const before = readdirSync(state.folder);
    expect(stateProblems()).toEqual([]);
    expect(readdirSync(state.folder)).toEqual(before);
  });

  test('that does not exist yet is no problem, and is not made', () => {
    expect(stateProblems(knownState(temp.file('a/b')))).toEqual([]);
    expect(existsSync(temp.file('a'))).toBe(false);
  });

  test.skipIf(process.platform !== 'linux')('under /proc cannot be written', () => {
    expect(stateProblems(knownState('/proc/leafgate-test'))).toEqual(['state-not-writable']);
  });

  test('that is a file cannot be written', () => {
    writeFileSync(temp.file('file'), '');
    expect(stateProblems(knownState(temp.file('file')))).toEqual(['state-not-writable']);
  });

  test('with a mode for others is open to them', () => {
    chmodSync(state.folder, 0o750);
    expect(stateProblems()).toEqual(['state-open-to-others']);
  });

  test('of another version has an unknown schema', () => {
    writeFileSync(state.stateFile, '{"schema":99}');
    expect(stateProblems()).toEqual(['state-schema-unknown']);
    writeFileSync(state.stateFile, 'torn');
    expect(stateProblems()).toEqual(['state-schema-unknown']);
  });

  test('with files of somebody else is not ours', () => {
    mkdirSync(temp.file('home'));
    writeFileSync(temp.file('home/thesis.txt'), '');
    expect(stateProblems(knownState(temp.file('home')))).toEqual(['state-not-ours']);
  });

  test('whose gateway was killed has a lock that was left behind', () => {
    const holder = { pid: 2 ** 22 + 1, startedAt: '1', token: 't' };
    writeFileSync(state.lockFile, JSON.stringify(holder));
    expect(stateProblems()).toEqual(['state-lock-left-behind']);
  });

  test('whose gateway runs is held', () => {
    takeLock(state.lockFile);
    expect(gatherState(state).lock).toEqual({ kind: 'held', pid: process.pid, file: state.lockFile });
  });

  test('with files from the future means a clock that was set back', () => {
    const tomorrow = Date.now() / 1000 + 86_400;
    utimesSync(state.poolFile, tomorrow, tomorrow);
    expect(stateProblems()).toEqual(['clock-behind']);
  });
});

describe('a pool', () => {
  test('that `up` has made has nothing wrong with it', async () => {
    expect(await poolProblems()).toEqual([]);
  });

  test('that is not there yet is no problem; one that was there is', async () => {
    rmSync(state.poolFile);
    expect(await poolProblems()).toEqual(['pool-missing']);
    rmSync(state.stateFile);
    expect(await poolProblems()).toEqual([]);
  });

  test.each([
    ['torn', '{"CAs":'],
    ['empty', '{"CAs":[]}'],
  ])('that is %s cannot be used', async (_, text) => {
    writeFileSync(state.poolFile, text);
    expect(await poolProblems()).toEqual(['pool-unusable']);
  });

  test('that is a folder cannot be used', async () => {
    rmSync(state.poolFile);
    mkdirSync(state.poolFile, { mode: 0o700 });
    expect(await poolProblems()).toEqual(['pool-unusable']);
  });

  test('is judged by the dates of its CA', async () => {
    const now = systemClock.now();
    writePool(now);
    expect(await poolProblems(plus(now, days(350)))).toEqual(['pool-ends-soon']);
    expect(await poolProblems(plus(now, days(400)))).toEqual(['pool-expired']);
    expect(await poolProblems(epoch(now - days(10)))).toContain('pool-not-yet-valid');
  });

  test('with a CA that is no good tells which is left out', async () => {
    writePool(systemClock.now(), (pool) => {
      const cas = pool['CAs'] as Record<string, unknown>[];
      return { ...pool, CAs: [...cas, { ...cas[0], ID: 'other', RootCertificateDER: 'AAAA' }] };
    });
    expect(await poolProblems()).toEqual(['pool-ca-left-out']);
  });

  test('that others may read is told with its mode', async () => {
    chmodSync(state.poolFile, 0o644);
    expect(await poolProblems()).toEqual(['pool-open-to-others']);
  });
});

test('socket paths that fit neither into the state folder nor into the temporary one are a problem', () => {
  const deep = knownState(`/${'a'.repeat(120)}`);
  expect(foundIn({ socketPath: gatherSocketPath(deep, '/tmp') })).toEqual([]);
  expect(foundIn({ socketPath: gatherSocketPath(deep, `/${'t'.repeat(120)}`) })).toEqual(['socket-path-too-long']);
});
