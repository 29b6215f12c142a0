import { expect, test } from 'vitest';
import { readVolumeFileName } from '../../../src/projection/actor-name.ts';

test.each([
  ['web.yaml', 'web'],
  ['Team_A.web-1.yaml', 'Team_A.web-1'],
  ['7.yaml', '7'],
  ['a.yaml.yaml', 'a.yaml'],
  [`${'a'.repeat(250)}.yaml`, 'a'.repeat(250)],
])('%s is the volume of %s', (name, actor) => {
  expect(readVolumeFileName(name)).toEqual({ kind: 'actor', actor });
});

test.each(['.web.yaml', '..data', '..2026_01_01', '.', '..', '.yaml', '..yaml'])('%s is no affair of ours', (name) => {
  expect(readVolumeFileName(name).kind).toBe('hidden');
});

test.each([
  'web.yml',
  'web',
  'web.yaml~',
  '-web.yaml',
  'web-.yaml',
  'web..yaml',
  'a b.yaml',
  'a\nb.yaml',
  'a\u0000b.yaml',
  'a\\b.yaml',
  'a:b.yaml',
  '\u202ebew.yaml',
  'wéb.yaml',
  '\ufffd.yaml',
  '$(id).yaml',
  `${'a'.repeat(251)}.yaml`,
])('%j is refused', (name) => {
  expect(readVolumeFileName(name).kind).toBe('refused');
});
