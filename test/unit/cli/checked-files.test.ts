// Files of others under a running gateway: changes are taken, bad ones said once, and what was good stays.
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openCheckedFiles, type CheckedFiles } from '../../../src/cli/checked-files.ts';
import { LeafgateError } from '../../../src/errors.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

const poll = 250;

describe('checked files', () => {
  let temp: TempFolder;
  let clock: FakeClock;
  let looks: number;
  let files: CheckedFiles<string>;
  let told: string[];
  let isGood: (text: string) => boolean;

  beforeEach(() => {
    temp = createTempFolder();
    clock = createFakeClock();
    looks = 0;
    told = [];
    isGood = (text) => !text.includes('bad');
    writeFileSync(temp.file('a'), 'a1');
    writeFileSync(temp.file('b'), 'b1');
  });
  afterEach(() => {
    files.close();
    temp.remove();
  });

  const open = async (): Promise<void> => {
    files = await openCheckedFiles({
      files: ['a', 'b'].map((name) => ({ path: temp.file(name), source: `--x ${name}` })),
      clock,
      check: (contents) => {
        looks += 1;
        const text = contents.map((content) => Buffer.from(content).toString()).join('+');
        if (!isGood(text)) throw LeafgateError.from(`${text} is bad`);
        return text;
      },
    });
    files.follow({
      taken: (value) => told.push(`taken ${value}`),
      refused: (error, isInForce) => told.push(`${isInForce ? 'no longer good' : 'refused'} ${error.message}`),
    });
  };
  /** one look after another, each awaited until the next is scheduled */
  const look = async (times = 1): Promise<void> => {
    for (let round = 0; round < times; round += 1) {
      clock.advance(poll);
      await waitFor('the next look to be scheduled', () => clock.pendingTimers() === 1);
    }
  };

  test('are refused at the start with everything that is wrong', async () => {
    rmSync(temp.file('a'));
    rmSync(temp.file('b'));
    mkdirSync(temp.file('b'));
    const opening = openCheckedFiles({
      files: ['a', 'b'].map((name) => ({ path: temp.file(name), source: `--x ${name}` })),
      clock,
      check: () => '',
    });
    const error = LeafgateError.from(await opening.catch((thrown: unknown) => thrown));
    expect(error.problems.map(({ message }) => message)).toEqual([
      '--x a cannot be read: no such file or folder',
      '--x b cannot be read: it is a folder',
    ]);
    await open().catch(() => undefined);
    rmSync(temp.file('b'), { recursive: true });
    writeFileSync(temp.file('a'), 'a');
    writeFileSync(temp.file('b'), 'b');
    await open();
  });

  test('are taken when they change, once, and judged only then', async () => {
    await open();
    await look(3);
    expect([told, looks]).toEqual([[], 1]);
    writeFileSync(temp.file('b'), 'b2');
    await look(3);
    expect([told, looks, files.current()]).toEqual([['taken a1+b2'], 2, 'a1+b2']);
  });

  test('stay as they were when they become bad, which is said at the second look and once', async () => {
    await open();
    writeFileSync(temp.file('a'), 'bad');
    await look();
    expect(told).toEqual([]);
    await look(4);
    expect([told, files.current()]).toEqual([['refused an unexpected failure: bad+b1 is bad'], 'a1+b1']);
    writeFileSync(temp.file('a'), 'a1');
    await look(2);
    expect(told.at(-1)).toBe('taken a1+b1');
    writeFileSync(temp.file('a'), 'worse and bad');
    await look(2);
    expect(told).toHaveLength(3);
  });

  test('are said to be good again also when another fault was seen for a moment before', async () => {
    await open();
    writeFileSync(temp.file('a'), 'bad');
    await look(2);
    writeFileSync(temp.file('a'), 'worse and bad');
    await look();
    writeFileSync(temp.file('a'), 'a1');
    await look();
    expect(told).toEqual(['refused an unexpected failure: bad+b1 is bad', 'taken a1+b1']);
  });

  test('that are away for the moment of a swap are no news', async () => {
    await open();
    renameSync(temp.file('a'), temp.file('away'));
    await look();
    renameSync(temp.file('away'), temp.file('a'));
    await look(2);
    expect(told).toEqual([]);
  });

  test('are followed through a swapped link, as a Secret’s mount has it', async () => {
    for (const version of ['v1', 'v2']) {
      mkdirSync(temp.file(version));
      writeFileSync(temp.file(`${version}/a`), `a of ${version}`);
    }
    rmSync(temp.file('a'));
    symlinkSync('v1', temp.file('..data'));
    symlinkSync('..data/a', temp.file('a'));
    await open();
    symlinkSync('v2', temp.file('..next'));
    renameSync(temp.file('..next'), temp.file('..data'));
    await look(2);
    expect(told).toEqual(['taken a of v2+b1']);
  });

  test('that go bad by themselves are said to be no longer good', async () => {
    await open();
    isGood = () => false;
    await look(2);
    expect(told).toEqual([]);
    clock.setWallTime(clock.now() + 60_000);
    await look(3);
    expect(told).toEqual(['no longer good an unexpected failure: a1+b1 is bad']);
    expect(files.current()).toBe('a1+b1');
  });
});
