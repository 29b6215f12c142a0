import { spawnSync } from 'node:child_process';
import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockHolder, processStart, takeLock } from '../../../src/cli/state-lock.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

let folder: TempFolder;
beforeEach(() => {
  folder = createTempFolder();
});
afterEach(() => folder.remove());

test('a lock is held by one process until it is released', () => {
  const path = folder.file('lock');
  const first = takeLock(path);
  expect(first.kind).toBe('held');
  const second = takeLock(path);
  expect(second).toMatchObject({ kind: 'taken', holder: { pid: process.pid } });
  if (first.kind === 'held') first.lock.release();
  expect(lockHolder(path)).toBeUndefined();
  expect(takeLock(path).kind).toBe('held');
});

test('a lock of a process that is gone is taken over', () => {
  const path = folder.file('lock');
  const { pid } = spawnSync('true');
  writeFileSync(path, JSON.stringify({ pid, startedAt: '1', token: 'dead' }));
  expect(lockHolder(path)).toBeUndefined();
  expect(takeLock(path).kind).toBe('held');
});

test('a lock of another process that got the same process id later is taken over', () => {
  const path = folder.file('lock');
  writeFileSync(path, JSON.stringify({ pid: process.pid, startedAt: 'long ago', token: 'other' }));
  expect(takeLock(path).kind).toBe('held');
});

test('a living holder is recognised by its process id and start', () => {
  const path = folder.file('lock');
  const parent = process.ppid;
  writeFileSync(path, JSON.stringify({ pid: parent, startedAt: processStart(parent), token: 'parent' }));
  expect(takeLock(path)).toMatchObject({ kind: 'taken', holder: { pid: parent } });
});

test.each(['', '{', '{"pid":"1"}', '{"pid":-1,"startedAt":"","token":""}'])(
  'a lock file with %j in it is taken over',
  (text) => {
    const path = folder.file('lock');
    writeFileSync(path, text);
    expect(takeLock(path).kind).toBe('held');
  },
);

test('taking, losing and releasing leave no file behind', () => {
  const path = folder.file('lock');
  const first = takeLock(path);
  takeLock(path);
  if (first.kind === 'held') first.lock.release();
  expect(readdirSync(folder.path)).toEqual([]);
});

test('releasing does not remove a lock that somebody else has taken since', () => {
  const path = folder.file('lock');
  const first = takeLock(path);
  const holder = { pid: process.ppid, startedAt: processStart(process.ppid), token: 'somebody' };
  writeFileSync(path, JSON.stringify(holder));
  if (first.kind === 'held') first.lock.release();
  expect(lockHolder(path)).toMatchObject({ token: 'somebody' });
});

test('what killed processes left of their attempts is removed, a living rival’s draft is not', () => {
  const path = folder.file('lock');
  const token = '0f8fad5b-d9cb-469f-a165-70867728950e';
  const { pid } = spawnSync('true');
  const dead = JSON.stringify({ pid, startedAt: '1', token });
  const living = JSON.stringify({ pid: process.ppid, startedAt: processStart(process.ppid), token });
  const old = new Date(Date.now() - 3_600_000);
  writeFileSync(`${path}.${token}`, dead);
  writeFileSync(`${path}.stale-${token}`, dead);
  writeFileSync(`${path}.${token.replace('0f', 'aa')}`, '');
  utimesSync(`${path}.${token.replace('0f', 'aa')}`, old, old);
  const kept = [
    `lock.${token.replace('0f', 'bb')}`,
    `lock.${token.replace('0f', 'cc')}`,
    'lock.notes',
    `other.${token}`,
  ];
  writeFileSync(folder.file(kept[0] ?? ''), living);
  writeFileSync(folder.file(kept[1] ?? ''), '');
  writeFileSync(folder.file(kept[2] ?? ''), dead);
  writeFileSync(folder.file(kept[3] ?? ''), dead);
  expect(takeLock(path).kind).toBe('held');
  expect(readdirSync(folder.path).sort()).toEqual(['lock', ...kept].sort());
});
