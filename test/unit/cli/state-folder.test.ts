import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { existingState, openStateFolder, stateFolderPath } from '../../../src/cli/state-folder.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

const clock = createFakeClock(Date.UTC(2026, 10, 30));
let temp: TempFolder;
let folder: string;
beforeEach(() => {
  temp = createTempFolder();
  folder = temp.file('state');
});
afterEach(() => temp.remove());

describe('the path of the state folder', () => {
  test.each([
    ['the option', 'given', { XDG_STATE_HOME: '/x' }, `${process.cwd()}/given`],
    ['XDG_STATE_HOME', undefined, { XDG_STATE_HOME: '/x' }, '/x/leafgate'],
  ])('comes from %s', (_, option, env, expected) => {
    expect(stateFolderPath(option, env)).toBe(expected);
  });

  test('is under the home folder when XDG_STATE_HOME is unset or not absolute', () => {
    expect(stateFolderPath(undefined, {})).toMatch(/\/\.local\/state\/leafgate$/);
    expect(stateFolderPath(undefined, { XDG_STATE_HOME: 'relative' })).toMatch(/\/\.local\/state\/leafgate$/);
  });
});

describe('a state folder', () => {
  test('is made private, with a pool that only its owner can read', async () => {
    const { state, poolCreated } = await openStateFolder(folder, clock);
    expect(poolCreated).toBe(true);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(state.poolFile).mode & 0o777).toBe(0o600);
  });

  test('keeps its pool when it is opened again', async () => {
    const { state } = await openStateFolder(folder, clock);
    const before = readFileSync(state.poolFile, 'utf8');
    const again = await openStateFolder(folder, clock);
    expect(again.poolCreated).toBe(false);
    expect(readFileSync(state.poolFile, 'utf8')).toBe(before);
  });

  test('never gets a new pool in silence when its own is gone', async () => {
    const { state } = await openStateFolder(folder, clock);
    rmSync(state.poolFile);
    await expect(openStateFolder(folder, clock)).rejects.toMatchObject({ code: 'state-pool-missing' });
    expect(existsSync(state.poolFile)).toBe(false);
  });

  test('has one pool after ten first starts at once', async () => {
    const opened = await Promise.all(Array.from({ length: 10 }, () => openStateFolder(folder, clock)));
    expect(opened.filter(({ poolCreated }) => poolCreated)).toHaveLength(1);
  });

  test('of another schema is refused and left as it is', async () => {
    await openStateFolder(folder, clock);
    writeFileSync(`${folder}/state.json`, '{"schema":99}');
    await expect(openStateFolder(folder, clock)).rejects.toMatchObject({
      code: 'state-schema-unknown',
      fields: { found: '99' },
    });
    expect(readFileSync(`${folder}/state.json`, 'utf8')).toBe('{"schema":99}');
  });

  test('that others can read is refused, naming the mode', async () => {
    await openStateFolder(folder, clock);
    chmodSync(folder, 0o755);
    await expect(openStateFolder(folder, clock)).rejects.toMatchObject({
      code: 'state-folder-open',
      fields: { mode: '755' },
    });
  });

  test('is not made out of a folder that holds somebody else’s files', async () => {
    mkdirSync(folder);
    writeFileSync(`${folder}/thesis.txt`, 'text');
    await expect(openStateFolder(folder, clock)).rejects.toMatchObject({ code: 'state-folder-foreign' });
    expect(existsSync(`${folder}/pool.json`)).toBe(false);
  });

  test('of a first start that was killed is taken up again', async () => {
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(`${folder}/pool.json.1234.new`, '{"CA');
    writeFileSync(`${folder}/setup.lock.5678`, '');
    expect((await openStateFolder(folder, clock)).poolCreated).toBe(true);
  });

  test('that is a file is refused with what is wrong', async () => {
    writeFileSync(folder, '');
    await expect(openStateFolder(folder, clock)).rejects.toMatchObject({ code: 'state-folder-unusable' });
  });

  test('that lost only its schema file is adopted with its pool', async () => {
    const { state } = await openStateFolder(folder, clock);
    rmSync(`${folder}/state.json`);
    expect((await openStateFolder(folder, clock)).poolCreated).toBe(false);
    expect(existsSync(state.poolFile)).toBe(true);
    expect(existsSync(`${folder}/state.json`)).toBe(true);
  });
});

describe('a state folder that is only looked at', () => {
  test('is none where nothing of ours stands, and is judged as one that is opened, without a change', async () => {
    expect(existingState(folder)).toBeUndefined();
    mkdirSync(folder);
    writeFileSync(`${folder}/thesis.txt`, 'text');
    expect(existingState(folder)).toBeUndefined();
    rmSync(folder, { recursive: true });
    const { state } = await openStateFolder(folder, clock);
    const { mtimeMs } = statSync(folder);
    expect(existingState(folder)).toEqual(state);
    writeFileSync(state.stateFile, '{"schema":99}');
    expect(() => existingState(folder)).toThrow(/schema 99/);
    expect(statSync(folder).mtimeMs).toBe(mtimeMs);
    chmodSync(folder, 0o755);
    expect(() => existingState(folder)).toThrow(/can be read by others/);
  });
});

// the words: `--state /proc/x` hangs inside Node's recursive mkdir
test.skipIf(process.platform !== 'linux')(
  'a state folder under /proc is refused at once, with the reason',
  async () => {
    await expect(openStateFolder('/proc/leafgate-test', clock)).rejects.toMatchObject({
      code: 'state-folder-unusable',
      message: expect.stringContaining('/proc/leafgate-test cannot be made: no folder can be made there') as unknown,
    });
  },
);
