import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { minutes, plus } from '../../../src/clock.ts';
import { createPool } from '../../../src/pool/create-pool.ts';
import { followPoolFile, type PoolFollower } from '../../../src/pool/follow-pool-file.ts';
import { maxPoolBytes } from '../../../src/pool/pool-document.ts';
import { looseModeOf, readPoolFile } from '../../../src/pool/read-pool-file.ts';
import { writeNewPoolFile } from '../../../src/pool/write-pool-file.ts';
import { SecretBytes } from '../../../src/secret-bytes.ts';
import { makeCa, testNow } from '../../support/ca-workshop.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { caFields, poolBytes } from '../../support/pool-workshop.ts';
import { runCommand } from '../../support/run-command.ts';
import { scrubbedEnvironment } from '../../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

let folder: TempFolder;
beforeEach(() => {
  folder = createTempFolder();
});
afterEach(() => folder.remove());

const pool = () => createPool({ now: testNow, randomBytes }).reveal();

describe('writing a new pool file', () => {
  const bytes = new SecretBytes(Buffer.from('a pool'));

  test('makes it for its owner only', async () => {
    const path = folder.file('pool.json');
    await writeNewPoolFile(path, bytes);
    expect(await readFile(path, 'utf8')).toBe('a pool');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('makes no folder that is missing, and says how', async () => {
    await expect(writeNewPoolFile(folder.file('a/pool.json'), bytes)).rejects.toMatchObject({
      code: 'pool-folder-missing',
      remedy: expect.stringContaining(`mkdir -m 700 ${folder.file('a')}`) as unknown,
    });
    await expect(stat(folder.file('a'))).rejects.toThrow('ENOENT');
  });

  test('never overwrites: neither a file nor what a symlink points to, dangling ones included', async () => {
    await writeFile(folder.file('pool.json'), 'the old one');
    await symlink(folder.file('elsewhere'), folder.file('link.json'));
    for (const name of ['pool.json', 'link.json']) {
      await expect(writeNewPoolFile(folder.file(name), bytes)).rejects.toMatchObject({
        code: 'pool-file-exists',
        fields: { path: folder.file(name) },
      });
    }
    expect(await readFile(folder.file('pool.json'), 'utf8')).toBe('the old one');
    await expect(stat(folder.file('elsewhere'))).rejects.toThrow('ENOENT');
  });

  test('says why it cannot', async () => {
    await writeFile(folder.file('file'), '');
    await expect(writeNewPoolFile(folder.file('file/pool.json'), bytes)).rejects.toMatchObject({
      code: 'pool-file-unwritable',
      fields: { reason: expect.stringContaining('a part of the path is no folder') as unknown },
    });
  });
});

describe('the mode of a pool file', () => {
  test.each([
    [0o644, '0644'],
    [0o640, '0640'],
    [0o602, '0602'],
    [0o600, undefined],
    [0o400, undefined],
  ])('%o is told as %s', async (mode, expected) => {
    await writeFile(folder.file('pool.json'), '');
    await chmod(folder.file('pool.json'), mode);
    expect(await looseModeOf(folder.file('pool.json'))).toBe(expected);
  });

  test('of a file that is not there is nothing to tell', async () => {
    expect(await looseModeOf(folder.file('none'))).toBeUndefined();
  });
});

describe('reading a pool file', () => {
  test('stops at 1 MiB, and takes all of it', async () => {
    await writeFile(folder.file('pool'), '');
    await truncate(folder.file('pool'), maxPoolBytes);
    expect((await readPoolFile(folder.file('pool'))).length).toBe(maxPoolBytes);
    await truncate(folder.file('pool'), maxPoolBytes + 1);
    await expect(readPoolFile(folder.file('pool'))).rejects.toMatchObject({ code: 'pool-too-large' });
  });

  test('refuses what is no regular file, and never hangs at a FIFO', async () => {
    await runCommand('mkfifo', [folder.file('fifo')], { env: scrubbedEnvironment(folder.path) });
    for (const path of [folder.path, folder.file('fifo'), '/dev/zero']) {
      await expect(readPoolFile(path)).rejects.toMatchObject({ code: 'pool-file-unreadable' });
    }
    await expect(readPoolFile(folder.file('none'))).rejects.toMatchObject({
      fields: { reason: 'no such file or folder' },
    });
  });
});

describe('following a pool file', () => {
  let clock: FakeClock;
  let follower: PoolFollower | undefined;
  let seen: string[];

  beforeEach(() => {
    clock = createFakeClock(testNow);
    seen = [];
  });
  afterEach(() => follower?.close());

  async function follow(path: string): Promise<PoolFollower> {
    const events = {
      poolTaken: ({ sha256 }: { sha256: string }) => void seen.push(`taken ${sha256}`),
      poolRefused: ({ code }: { code: string }) => void seen.push(`refused ${code}`),
    };
    follower = await followPoolFile({ path, clock, allowEd25519: false, shortestLeafMs: minutes(2), events });
    return follower;
  }

  /** lets the follower look once: the timer fires, the file is read, the next timer is set */
  async function look(times = 1): Promise<void> {
    for (let count = 0; count < times; count += 1) {
      clock.advance(250);
      const deadline = performance.now() + 10_000;
      while (clock.pendingTimers() !== 1) {
        if (performance.now() > deadline) throw new Error('the next look was never planned');
        await nextTurn();
      }
    }
  }

  async function write(name: string, bytes: Uint8Array): Promise<string> {
    await writeFile(folder.file(name), bytes);
    return folder.file(name);
  }

  async function replace(name: string, bytes: Uint8Array): Promise<void> {
    await write(`${name}.tmp`, bytes);
    await rename(folder.file(`${name}.tmp`), folder.file(name));
  }

  test('starts with what is there, and is silent while nothing changes', async () => {
    const followed = await follow(await write('pool', pool()));
    expect(followed.current().cas).toHaveLength(1);
    await look(10);
    expect(seen).toEqual([]);
  });

  test.each<[string, () => Promise<string>, string]>([
    ['not there', async () => folder.file('none'), 'pool-file-unreadable'],
    ['not usable', () => write('pool', Buffer.from('{}')), 'pool-empty'],
  ])('does not start when the file is %s', async (_, path, code) => {
    await expect(follow(await path())).rejects.toMatchObject({ code });
    expect(clock.pendingTimers()).toBe(0);
  });

  test('takes a replaced file at the next look, which is within a second', async () => {
    const followed = await follow(await write('pool', pool()));
    const before = followed.current();
    await replace('pool', pool());
    await look();
    expect(followed.current().sha256).not.toBe(before.sha256);
    expect(seen).toEqual([`taken ${followed.current().sha256}`]);
  });

  test('takes a file that was written over in place, with the same length and the same dates', async () => {
    const [first, second] = [poolBytes([caFields('a')]), poolBytes([caFields('b')])];
    const length = Math.max(first.length, second.length);
    const padded = (bytes: Uint8Array) => Buffer.concat([bytes, Buffer.alloc(length - bytes.length, ' ')]);
    const followed = await follow(await write('pool', padded(first)));
    await write('pool', padded(second));
    await look();
    expect(followed.current().active.id).toBe('b');
  });

  test('takes a swap of symlinks, as Kubernetes makes it', async () => {
    for (const name of ['one', 'two']) {
      await mkdir(folder.file(name));
      await write(`${name}/pool`, poolBytes([caFields(name)]));
    }
    await symlink('one', folder.file('..data'));
    await symlink('..data/pool', folder.file('pool'));
    const followed = await follow(folder.file('pool'));
    await symlink('two', folder.file('..data_tmp'));
    await rename(folder.file('..data_tmp'), folder.file('..data'));
    await rm(folder.file('one'), { recursive: true });
    await look();
    expect(followed.current().active.id).toBe('two');
  });

  test('never takes a half of a file: the last good pool stays, and nothing is reported when the rest follows', async () => {
    const next = pool();
    const followed = await follow(await write('pool', pool()));
    const before = followed.current();
    await write('pool', next.subarray(0, next.length / 2));
    await look();
    expect(followed.current()).toBe(before);
    await write('pool', next);
    await look();
    expect(seen).toEqual([`taken ${followed.current().sha256}`]);
  });

  test('reports a bad file once, however long it stays bad, and each other fault once more', async () => {
    const followed = await follow(await write('pool', pool()));
    const before = followed.current();
    await write('pool', Buffer.from('{'));
    await look(500);
    expect(seen).toEqual(['refused pool-not-json']);
    await write('pool', Buffer.from('{}'));
    await look(500);
    expect(seen).toEqual(['refused pool-not-json', 'refused pool-empty']);
    expect(followed.current()).toBe(before);
  });

  test('says that it is good again, also when the old content comes back, and reports the next fault anew', async () => {
    const good = pool();
    const followed = await follow(await write('pool', good));
    await rm(folder.file('pool'));
    await look(3);
    await write('pool', good);
    await look(3);
    await rm(folder.file('pool'));
    await look(3);
    const taken = `taken ${followed.current().sha256}`;
    expect(seen).toEqual(['refused pool-file-unreadable', taken, 'refused pool-file-unreadable']);
  });

  test('says that it is good again also when another fault was seen for a moment before', async () => {
    const good = pool();
    await follow(await write('pool', good));
    await write('pool', Buffer.from('{'));
    await look(2);
    await rm(folder.file('pool'));
    await look();
    await write('pool', good);
    await look();
    expect(seen).toEqual(['refused pool-not-json', expect.stringMatching(/^taken/)]);
  });

  test('does not mind that the file is away between two looks', async () => {
    await follow(await write('pool', pool()));
    await rm(folder.file('pool'));
    await look();
    await write('pool', pool());
    await look();
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatch(/^taken/);
  });

  test('keeps the last good pool when the file can no longer be read', async () => {
    const followed = await follow(await write('pool', pool()));
    await takeAway(folder.file('pool'));
    await look(3);
    expect(seen).toEqual(['refused pool-file-unreadable']);
    expect(followed.current().cas).toHaveLength(1);
  });

  test('takes a pool that was too young once its time has come, without a change of the file', async () => {
    const followed = await follow(await write('pool', pool()));
    const young = makeCa({ notBefore: plus(testNow, minutes(1.5)) });
    await replace('pool', poolBytes([caFields('young', young)]));
    await look(2);
    expect(seen).toEqual(['refused pool-ca-not-yet-valid']);
    await look(4 * 60 * 2);
    expect(followed.current().active.id).toBe('young');
    expect(seen).toHaveLength(2);
  });

  test('hands over the faults of the CAs that it left out', async () => {
    const faults: string[] = [];
    const events = {
      poolTaken: (taken: { faults: readonly { code: string }[] }) =>
        void faults.push(...taken.faults.map(({ code }) => code)),
      poolRefused: () => undefined,
    };
    const path = await write('pool', pool());
    follower = await followPoolFile({ path, clock, allowEd25519: false, shortestLeafMs: minutes(2), events });
    await replace('pool', poolBytes([caFields('a'), { ID: 'bad' }]));
    await look();
    expect(faults).toEqual(['pool-ca-field', 'pool-ca-field']);
  });

  test('ends when it is closed, also in the middle of a look', async () => {
    const followed = await follow(await write('pool', pool()));
    await replace('pool', pool());
    const before = followed.current();
    clock.advance(250);
    followed.close();
    await readFile(folder.file('pool'));
    await readFile(folder.file('pool'));
    expect(clock.pendingTimers()).toBe(0);
    expect(followed.current()).toBe(before);
    expect(seen).toEqual([]);
  });

  test('never shows anything but a whole pool in a thousand swaps', async () => {
    const pools = [poolBytes([caFields('one')]), poolBytes([caFields('two')])];
    const followed = await follow(await write('pool', pools[0]!));
    for (let count = 1; count <= 1000; count += 1) {
      await replace('pool', pools[count % 2]!);
      clock.advance(250);
      expect(['one', 'two']).toContain(followed.current().active.id);
    }
    await waitFor('the last swap to be taken', async () => {
      await look();
      return followed.current().active.id === 'one';
    });
    expect(seen.every((event) => event.startsWith('taken'))).toBe(true);
  });
});

/** root may read everything, so that for root a folder stands in the way */
async function takeAway(path: string): Promise<void> {
  if (process.getuid?.() !== 0) return chmod(path, 0);
  await rm(path);
  await mkdir(path);
}
