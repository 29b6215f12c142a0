import { expect, test } from 'vitest';
import { readProjectOptions, type ProjectValues } from '../../../src/cli/project-options.ts';
import { problemsOf } from '../../../src/errors.ts';

const enough = { volume: 'v.yaml', bundles: 'b.yaml', dir: '/out' };

function read(values: Partial<ProjectValues>, metrics?: string) {
  const flag = (name: string): string | undefined => (name === 'metrics' ? metrics : undefined);
  return readProjectOptions({ bundles: 'b.yaml', dir: '/out', ...values }, { flag, environment: {} });
}

function codesOf(values: Partial<ProjectValues>, metrics?: string): readonly string[] {
  try {
    read(values, metrics);
    return [];
  } catch (thrown) {
    return problemsOf(thrown).map(({ code }) => code);
  }
}

test('a volume, a list of bundles and a folder are enough', () => {
  expect(read(enough)).toEqual({
    what: { kind: 'volume', file: 'v.yaml', isOnce: false },
    bundlesFile: 'b.yaml',
    dir: '/out',
    rootsFrom: undefined,
    fileMode: 0o644,
    folderMode: 0o755,
    owner: undefined,
    kubeconfigFile: undefined,
    health: undefined,
    json: false,
  });
  expect(read({ actors: '/actors' }).what).toEqual({ kind: 'actors', folder: '/actors' });
  expect(read({ ...enough, once: true }).what).toMatchObject({ isOnce: true });
});

test.each([
  ['0640', 0o640, 0o750],
  ['600', 0o600, 0o700],
  ['0444', 0o444, 0o755],
  ['0400', 0o400, 0o700],
])('files of mode %s are in folders that the same people may enter', (mode, fileMode, folderMode) => {
  expect(read({ ...enough, mode })).toMatchObject({ fileMode, folderMode });
});

test.each(['', '7', '8888', '0044', '4755', '1777', '0o644', '-644', '06444', 'rw-'])(
  'the mode %j is refused',
  (mode) => {
    expect(codesOf({ ...enough, mode })).toEqual(['setting-malformed']);
  },
);

test('an owner is two numbers', () => {
  expect(read({ ...enough, owner: '1000:0' }).owner).toEqual({ uid: 1000, gid: 0 });
  for (const owner of ['', '1000', 'root:root', '1:', ':1', '1:2:3', '-1:0', '4294967295:0', '0:99999999999'])
    expect(codesOf({ ...enough, owner })).toEqual(['setting-malformed']);
});

test.each<[readonly string[], Partial<ProjectValues>]>([
  [['project-what-missing'], {}],
  [['project-what-twice'], { volume: 'v', actors: 'a' }],
  [['project-once-for-one'], { actors: 'a', once: true }],
  [['setting-malformed'], { volume: 'v', dir: '' }],
  [['project-folders-same'], { actors: '/out/../out/' }],
])('%j', (codes, values) => {
  expect(codesOf(values)).toEqual(codes);
});

test('everything that is wrong is said at once', () => {
  expect(codesOf({ mode: 'x', owner: 'y' }, 'nowhere')).toEqual([
    'project-what-missing',
    'setting-malformed',
    'setting-malformed',
    'setting-malformed',
  ]);
});

test('health may be served on any address, since a kubelet asks from outside the pod', () => {
  expect(read(enough, '0.0.0.0:8081').health).toEqual({ kind: 'tcp', address: '0.0.0.0', port: 8081 });
});
