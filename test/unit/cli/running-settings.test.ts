import { expect, test } from 'vitest';
import { givenSettings, withRunningSettings, type SettingValues } from '../../../src/cli/running-settings.ts';
import type { SettingSource } from '../../../src/settings/read-settings.ts';

const call = (flags: SettingValues, environment: Record<string, string> = {}): SettingSource => ({
  environment,
  flag: (name) => flags[name],
});

test('what a gateway was started with is kept with absolute paths and its real address', () => {
  const source = call(
    { policy: 'p.yaml', listen: '127.0.0.1:0', state: '/s', json: true, 'origin-ca': ['a.pem', '/b.pem'] },
    { LEAFGATE_DRAIN: '1m' },
  );
  expect(givenSettings(source, 'http://127.0.0.1:3131', '/home/a')).toEqual({
    ...{
      policy: ['/home/a/p.yaml'],
      listen: '127.0.0.1:3131',
      'origin-ca': ['/home/a/a.pem', '/b.pem'],
      drain: ['1m'],
    },
  });
});

test('a later call has its own settings first, then those of the gateway', () => {
  const source = withRunningSettings(call({ dns: ['192.0.2.1'] }, { LEAFGATE_DRAIN: '2m' }), {
    ...{ dns: ['192.0.2.9'], drain: ['1m'], listen: '127.0.0.1:3131', policy: ['/p.yaml'] },
  });
  expect(['dns', 'drain', 'listen', 'policy', 'json'].map((name) => source.flag(name))).toEqual([
    ...[['192.0.2.1'], undefined, '127.0.0.1:3131', ['/p.yaml'], undefined],
  ]);
});

test('a policy of the call takes the place of the whole of the gateway’s', () => {
  const source = withRunningSettings(call({ deny: ['a.test'] }), { policy: ['/p.yaml'] });
  expect([source.flag('deny'), source.flag('policy')]).toEqual([['a.test'], undefined]);
});
