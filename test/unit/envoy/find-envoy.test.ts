import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  defaultCacheDir,
  findEnvoy,
  gatewayMinVersion,
  sdsMinVersion,
  type FindEnvoyOptions,
} from '../../../src/envoy/find-envoy.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

describe('findEnvoy', () => {
  let folder: TempFolder;
  let said: string[];
  beforeEach(() => {
    folder = createTempFolder();
    said = [];
  });
  afterEach(() => folder.remove());

  /** a folder with an `envoy` of that version, or a broken one */
  const envoyIn = (name: string, version: string | undefined): string => {
    const dir = folder.file(name);
    mkdirSync(dir);
    const says = version === undefined ? 'exit 127' : `echo "envoy  version: c/${version}/Clean/RELEASE/BoringSSL"`;
    writeFileSync(join(dir, 'envoy'), `#!/bin/sh\n${says}\n`);
    chmodSync(join(dir, 'envoy'), 0o755);
    return dir;
  };
  const find = (env: Record<string, string>, options: Partial<FindEnvoyOptions> = {}) =>
    findEnvoy({
      env,
      cacheDir: folder.file('cache'),
      minVersion: gatewayMinVersion,
      progress: (sentence) => void said.push(sentence),
      install: false,
      ...options,
    });

  test('the one that was named wins over PATH', async () => {
    const path = join(envoyIn('a', '1.41.0'), 'envoy');
    const found = await find({ PATH: envoyIn('b', '1.40.0') }, { named: { path, setting: '--envoy' } });
    expect(found).toMatchObject({ path, source: 'setting', version: { minor: 41 } });
  });

  test.each([
    ['too old', '1.39.3', 'it is version 1.39.3'],
    ['broken', undefined, 'running it with --version failed'],
  ])('a named one that is %s is an error, never passed over', async (_, version, detail) => {
    const named = { path: join(envoyIn('a', version), 'envoy'), setting: '--envoy' };
    await expect(find({ PATH: envoyIn('b', '1.40.0') }, { named })).rejects.toMatchObject({
      code: 'envoy-setting-not-usable',
      message: expect.stringContaining(detail) as unknown,
    });
  });

  test.each(['--envoy', 'LEAFGATE_ENVOY'])('the error names what it came from: %s', async (setting) => {
    const path = folder.file('nowhere');
    await expect(find({}, { named: { path, setting } })).rejects.toMatchObject({
      message: expect.stringMatching(new RegExp(`^${setting} names ${path}, .*no such file`)) as unknown,
      remedy: expect.stringContaining(`point ${setting} at`) as unknown,
    });
  });

  test('the first one on PATH that is new enough is taken, and each passed over is said', async () => {
    const [old, broken, good] = [envoyIn('old', '1.39.3'), envoyIn('broken', undefined), envoyIn('good', '1.40.0')];
    const found = await find({ PATH: [old, broken, good, envoyIn('later', '1.42.0')].join(':') });
    expect(found).toMatchObject({ path: join(good, 'envoy'), source: 'path' });
    expect(said).toEqual([
      `passing over ${old}/envoy: version 1.39.3; Envoy 1.40.0 or newer is needed`,
      expect.stringContaining(`passing over ${broken}/envoy`),
    ]);
  });

  test('an older one is good enough for the SDS server', async () => {
    const found = await find({ PATH: envoyIn('old', '1.37.0') }, { minVersion: sdsMinVersion });
    expect(found.source).toBe('path');
  });

  test('an `envoy` that only an empty or relative PATH entry leads to is not run', async () => {
    envoyIn('here', '1.40.0');
    const before = process.cwd();
    process.chdir(folder.path);
    try {
      await expect(find({ PATH: ':here:./here' })).rejects.toMatchObject({ code: 'envoy-not-found' });
    } finally {
      process.chdir(before);
    }
  });

  test('nothing found and nothing to install is told with where it was looked for', async () => {
    await expect(find({ PATH: folder.path })).rejects.toMatchObject({
      code: 'envoy-not-found',
      message: expect.stringContaining(folder.file('cache')) as unknown,
      remedy: expect.stringContaining('LEAFGATE_ENVOY') as unknown,
    });
  });

  test.each([
    [{ os: 'darwin', cpu: 'arm64', glibc: undefined }, 'darwin arm64'],
    [{ os: 'linux', cpu: 'x64', glibc: undefined }, 'linux x64 with musl'],
    [{ os: 'linux', cpu: 's390x', glibc: '2.36' }, 'linux s390x with glibc 2.36'],
  ])('where there is no wheel (%j) it says what to do instead of trying', async (platform, text) => {
    await expect(find({ PATH: folder.path }, { platform, install: true })).rejects.toMatchObject({
      code: 'envoy-install-no-platform',
      message: expect.stringContaining(`for ${text}`) as unknown,
    });
    expect(said).toEqual([]);
  });
});

test.each([
  [{ XDG_CACHE_HOME: '/x' }, '/x/leafgate'],
  [{ XDG_CACHE_HOME: '' }, '/home/a/.cache/leafgate'],
  [{ XDG_CACHE_HOME: 'relative' }, '/home/a/.cache/leafgate'],
  [{}, '/home/a/.cache/leafgate'],
])('the cache folder with %j is %s', (env, expected) => {
  expect(defaultCacheDir(env, '/home/a')).toBe(expected);
});
