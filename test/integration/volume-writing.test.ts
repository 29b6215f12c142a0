// What happens to the files of a volume while other processes read them, when the writer is killed at any step, and when
// the disk is full or read-only. The disks are in mount namespaces of their own, where the machine allows one.
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openVolumeWriter, type WantedFile } from '../../src/projection/write-volume.ts';
import { runCommand, startProcess, type CommandResult } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { bundleOf, everythingIn, generationOf } from '../support/volume-samples.ts';

let folder: TempFolder;
let dir: string;
beforeEach(() => {
  folder = createTempFolder();
  dir = folder.file('volume');
});
afterEach(() => folder.remove());

const file = (path: string, generation: number, size?: number): WantedFile => ({
  path,
  pemBundle: bundleOf(generation, size),
  form: 'PEM',
});

const root = new URL('../../', import.meta.url).href;

/** a program of its own that has a writer, `file`, `kinds` and the arguments after it; `wrap` goes before Node */
async function inProcess(body: string, args: readonly string[], wrap: readonly string[] = []): Promise<CommandResult> {
  const script = folder.file('writer.ts');
  writeFileSync(
    script,
    `import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
     import { openVolumeWriter } from '${root}src/projection/write-volume.ts';
     import { bundleOf, everythingIn, generationOf } from '${root}test/support/volume-samples.ts';
     const [dir = '', ...args] = process.argv.slice(2);
     const file = (path, generation, size) => ({ path, pemBundle: bundleOf(generation, size), form: 'PEM' });
     const said = (outcomes) => console.log(JSON.stringify(outcomes));
     ${body}`,
  );
  const [command = '', ...rest] = [...wrap, process.execPath, script, dir, ...args];
  return await runCommand(command, rest, { env: scrubbedEnvironment(folder.path) });
}

test('a reader in a loop never sees a partial file, an older one than before, or none, over 500 changes of it', async () => {
  const writer = openVolumeWriter({ dir });
  const large = (generation: number): WantedFile => file('certs/ca.pem', generation, 300_000);
  await writer.write([large(0)]);
  writeFileSync(
    folder.file('reader.ts'),
    `import { readFileSync } from 'node:fs';
     import { generationOf } from '${root}test/support/volume-samples.ts';
     let last = 0;
     let reads = 0;
     let said = false;
     const deadline = performance.now() + 60_000;
     while (last < 500 && performance.now() < deadline) {
       const generation = generationOf(readFileSync(process.argv[2], 'utf8'));
       if (generation === undefined || generation < last) throw new Error('saw ' + generation + ' after ' + last);
       last = generation;
       reads += 1;
       if (!said) console.log('reading');
       said = true;
     }
     console.log('saw the last of', reads > 10 ? 'many' : reads);`,
  );
  const env = scrubbedEnvironment(folder.path);
  const path = join(dir, 'certs/ca.pem');
  const reader = startProcess(process.execPath, [folder.file('reader.ts'), path], { env });
  try {
    await reader.waitForOutput(/reading/);
    const held = openSync(path, 'r');
    for (let generation = 1; generation <= 500; generation += 1) {
      expect(await writer.write([large(generation)])).toMatchObject([{ kind: 'written' }]);
    }
    await reader.waitForOutput(/saw the last of many/, 60_000);
    expect(generationOf(readFileSync(held, 'utf8'))).toBe(0);
    closeSync(held);
  } finally {
    await reader.stop();
  }
});

describe('a writer that is killed', () => {
  const killAt = (work: string): string =>
    `let left = Number(args[0]);
     const afterStep = () => { left -= 1; if (left === 0) process.kill(process.pid, 'SIGKILL'); };
     const writer = openVolumeWriter({ dir, afterStep });
     ${work}
     console.log('done');`;

  /** runs `work` again and again, each time killed one step later, until it comes to its end */
  async function untilDone(work: string, check: (step: number) => Promise<void>): Promise<number> {
    for (let step = 1; step < 100; step += 1) {
      const { signal, stdout, stderr } = await inProcess(killAt(work), [String(step)]);
      if (stdout.includes('done')) return step;
      expect({ signal, stderr }).toEqual({ signal: 'SIGKILL', stderr: '' });
      await check(step);
    }
    return expect.fail('it never came to its end');
  }

  test('at any step of the first write leaves no file or a whole one, and the next run leaves nothing of it', async () => {
    const steps = await untilDone(`await writer.write([file('a/b/ca.pem', 1), file('ca.pem', 1)]);`, async () => {
      for (const path of ['a/b/ca.pem', 'ca.pem'])
        if (existsSync(join(dir, path))) expect(generationOf(readFileSync(join(dir, path), 'utf8'))).toBe(1);
      const next = openVolumeWriter({ dir });
      await next.sweep();
      await next.write([file('a/c.pem', 2)]);
      await next.removeOthers(['a/c.pem']);
      expect(everythingIn(dir)).toEqual(['.leafgate-volume', 'a/', 'a/c.pem']);
      // made by the run that was killed, so removed with the rest
      await next.remove();
      expect(existsSync(dir)).toBe(false);
    });
    expect(steps).toBeGreaterThan(15);
  });

  test('at any step of a change leaves the old or the new file, whole', async () => {
    const writer = openVolumeWriter({ dir });
    const old = file('certs/ca.pem', 1, 100_000);
    await writer.write([old]);
    const steps = await untilDone(`await writer.write([file('certs/ca.pem', 2, 100_000)]);`, async () => {
      expect([1, 2]).toContain(generationOf(readFileSync(join(dir, 'certs/ca.pem'), 'utf8')));
      await writer.sweep();
      expect(everythingIn(dir)).toEqual(['.leafgate-volume', 'certs/', 'certs/ca.pem']);
      await writer.write([old]);
    });
    expect(steps).toBeGreaterThan(5);
  });

  test('at any step of a removal can be followed by one that takes the rest away', async () => {
    const writer = openVolumeWriter({ dir });
    const paths = ['a/b/ca.pem', 'a/ca.pem', 'ca.pem'];
    const fill = (): ReturnType<typeof writer.write> => writer.write(paths.map((path) => file(path, 1)));
    await fill();
    const steps = await untilDone(`await writer.remove();`, async () => {
      await writer.remove();
      expect(existsSync(dir)).toBe(false);
      await fill();
    });
    expect(steps).toBeGreaterThan(2);
  });
});

function linesOf(stdout: string): readonly unknown[] {
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

const mayMount = spawnSync('unshare', ['-Urm', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt']).status === 0;
const diskBytes = 1024 * 1024;

describe.skipIf(!mayMount)('on a disk of its own', () => {
  /** runs `body` in a mount namespace where `dir` is a small disk */
  const onDisk = (body: string, before = 'true'): Promise<CommandResult> => {
    const script = `mkdir -p ${dir} && mount -t tmpfs -o size=${diskBytes} tmpfs ${dir} && ${before} && exec "$@"`;
    return inProcess(body, [], ['unshare', '-Urm', 'sh', '-c', script, 'sh']);
  };

  test('that is full, the last good files stay, the error names file and cause, and a later write succeeds', async () => {
    const { stdout, stderr } = await onDisk(`
      const writer = openVolumeWriter({ dir });
      await writer.write([file('certs/ca.pem', 1, 300_000), file('ca.pem', 1, 300_000)]);
      const seen = () => ['certs/ca.pem', 'ca.pem'].map((path) => generationOf(readFileSync(dir + '/' + path, 'utf8')));
      const brief = (outcomes) => outcomes.map(({ kind, error }) => [kind, error?.code, error?.fields]);
      for (const size of [65536, 4096]) try { for (;;) writeFileSync(dir + '/filler', Buffer.alloc(size), { flag: 'a' }); } catch {}
      said([brief(await writer.write([file('certs/ca.pem', 2, 300_000), file('ca.pem', 1, 300_000)])), seen()]);
      said([brief(await writer.write([file('new/ca.pem', 2)])), seen()]);
      said(everythingIn(dir));
      rmSync(dir + '/filler');
      said([brief(await writer.write([file('certs/ca.pem', 2, 300_000), file('ca.pem', 2, 300_000)])), seen()]);`);
    expect(stderr).toBe('');
    const because = { detail: 'the disk is full', reason: 'ENOSPC' };
    const failed = (path: string) => ['failed', 'volume-file-not-written', { path: join(dir, path), ...because }];
    const unchanged = ['unchanged', null, null];
    const written = ['written', null, null];
    expect(linesOf(stdout)).toEqual([
      [
        [failed('certs/ca.pem'), unchanged],
        [1, 1],
      ],
      [[failed('new/ca.pem')], [1, 1]],
      ['.leafgate-volume', 'ca.pem', 'certs/', 'certs/ca.pem', 'filler'],
      [
        [written, written],
        [2, 2],
      ],
    ]);
  });

  test('that becomes read-only, the files stay and the error says so', async () => {
    const { stdout, stderr } = await onDisk(`
      const { execFileSync } = await import('node:child_process');
      const writer = openVolumeWriter({ dir });
      await writer.write([file('certs/ca.pem', 1)]);
      execFileSync('mount', ['-o', 'remount,ro', dir]);
      said(await writer.write([file('certs/ca.pem', 1)]));
      const [{ kind, error }] = await writer.write([file('certs/ca.pem', 2)]);
      said([kind, error.fields, generationOf(readFileSync(dir + '/certs/ca.pem', 'utf8'))]);
      said(await writer.remove().catch(({ code, fields }) => [code, fields.reason]));
      execFileSync('mount', ['-o', 'remount,rw', dir]);
      said(await writer.write([file('certs/ca.pem', 2)]));`);
    expect(stderr).toBe('');
    const path = join(dir, 'certs/ca.pem');
    expect(linesOf(stdout)).toEqual([
      [{ path: 'certs/ca.pem', kind: 'unchanged' }],
      ['failed', { path, detail: 'the file system is read-only', reason: 'EROFS' }, 1],
      ['volume-not-removed', 'EROFS'],
      [{ path: 'certs/ca.pem', kind: 'written' }],
    ]);
  });

  test('works without /proc too', async () => {
    const { stdout, stderr } = await onDisk(
      `const writer = openVolumeWriter({ dir });
       await writer.write([file('certs/ca.pem', 1), file('ca.pem', 1)]);
       said([existsSync('/proc/self'), await writer.write([file('certs/ca.pem', 2)]), everythingIn(dir)]);
       said([await writer.removeOthers(['certs/ca.pem']), await writer.sweep(), everythingIn(dir)]);`,
      'mount -t tmpfs tmpfs /proc',
    );
    expect(stderr).toBe('');
    const left = ['certs/', 'certs/ca.pem'];
    expect(linesOf(stdout)).toEqual([
      [false, [{ path: 'certs/ca.pem', kind: 'written' }], ['.leafgate-volume', 'ca.pem', ...left]],
      [['ca.pem'], 0, ['.leafgate-volume', ...left]],
    ]);
  });

  test('with nobody else’s user to be had, an owner that cannot be given is named, and no file is left half done', async () => {
    // in the namespace there is one user only
    const { stdout, stderr } = await onDisk(`
      const owner = { uid: 1234, gid: 1234 };
      const [{ error }] = await openVolumeWriter({ dir, owner }).write([file('certs/ca.pem', 1)]);
      said([error.code, error.fields.uid, everythingIn(dir)]);`);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual(['volume-owner-refused', 1234, ['.leafgate-volume']]);
  });
});

test.skipIf(process.getuid?.() !== 0)(
  'files and folders get the owner that is asked for, before they have their name',
  async () => {
    const { stdout, stderr } = await inProcess(
      `import { lstatSync } from 'node:fs';
     const owner = { uid: 1234, gid: 4321 };
     const path = dir + '/certs/ca.pem';
     const seen = [];
     const afterStep = (step) => { if (step === 'draft-renamed' && existsSync(path)) seen.push(lstatSync(path).uid); };
     const writer = openVolumeWriter({ dir, owner, afterStep });
     await writer.write([file('certs/ca.pem', 1)]);
     const owners = ['', '/certs', '/certs/ca.pem'].map((path) => lstatSync(dir + path)).map(({ uid, gid }) => [uid, gid]);
     said([seen, owners, (await writer.write([file('certs/ca.pem', 1)]))[0].kind]);
     await writer.remove();
     said(existsSync(dir));`,
      [],
    );
    expect(stderr).toBe('');
    const theirs = [1234, 4321];
    expect(stdout).toBe(`${JSON.stringify([[1234], [theirs, theirs, theirs], 'unchanged'])}\nfalse\n`);
  },
);

test('a thousand volumes are written, changed and taken away at once', async () => {
  const writers = Array.from({ length: 1000 }, (_, index) => openVolumeWriter({ dir: join(dir, String(index)) }));
  for (const content of [1, 2]) {
    for (let from = 0; from < writers.length; from += 100) {
      const some = writers.slice(from, from + 100).map((one) => one.write([file('certs/ca.pem', content)]));
      expect((await Promise.all(some)).flat().map(({ kind }) => kind)).toEqual(Array(100).fill('written'));
    }
  }
  for (const one of writers) await one.remove();
  expect(readdirSync(dir)).toEqual([]);
}, 120_000);
