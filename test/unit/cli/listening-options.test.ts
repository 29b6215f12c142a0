// --proxy-cert, --listen-tls, --client-ca and --transparent, from texts to what a gateway is asked for.
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readFrontOptions } from '../../../src/cli/front-options.ts';
import { createProblems } from '../../../src/problems.ts';
import { parsePortSetting, readTransparentPort } from '../../../src/cli/transparent-options.ts';
import { LeafgateError } from '../../../src/errors.ts';
import { parseCidrSetting } from '../../../src/settings/parse-targets.ts';
import type { SettingSource } from '../../../src/settings/read-settings.ts';

const given = (flags: Readonly<Record<string, string>>, environment = {}): SettingSource => ({
  flag: (name) => flags[name],
  environment,
});

function codesOf(read: (problems: ReturnType<typeof createProblems>) => unknown): readonly string[] {
  const problems = createProblems();
  read(problems);
  try {
    problems.throwAny();
    return [];
  } catch (thrown) {
    const error = LeafgateError.from(thrown);
    return (error.problems.length > 0 ? error.problems : [error]).map(({ code }) => code);
  }
}

describe('TLS to the proxy', () => {
  test('is not asked for without a certificate', () => {
    expect(readFrontOptions(given({}), createProblems())).toBeUndefined();
  });

  test('is on --listen unless it has an address of its own; paths are absolute', () => {
    expect(readFrontOptions(given({ 'proxy-cert': 'tls' }), createProblems())).toEqual({
      ...{ certificateDir: resolve('tls'), listen: undefined, clientCaFile: undefined },
    });
    const source = given({ 'listen-tls': '[::1]:3129', 'client-ca': '/etc/ca.pem' }, { LEAFGATE_PROXY_CERT: '/tls' });
    expect(readFrontOptions(source, createProblems())).toMatchObject({
      ...{ certificateDir: '/tls', clientCaFile: '/etc/ca.pem' },
      listen: { address: { text: '::1' }, port: 3129 },
    });
  });

  test('is needed by what goes with it, all of it told at once', () => {
    const source = given({ 'listen-tls': 'nowhere', 'client-ca': 'x' });
    expect(codesOf((problems) => readFrontOptions(source, problems))).toEqual([
      'setting-malformed',
      'front-needs-certificate',
      'front-needs-certificate',
    ]);
  });
});

describe('redirected connections', () => {
  const allowFrom = [parseCidrSetting('10.0.0.0/8', '--allow-from')];
  const source = given({ transparent: '15001' });

  test('have a port, on Linux, when somebody says who may come', () => {
    expect(readTransparentPort({ source, allowFrom, platform: 'linux' }, createProblems())).toBe(15_001);
    expect(
      readTransparentPort({ source: given({}), allowFrom: [], platform: 'darwin' }, createProblems()),
    ).toBeUndefined();
  });

  test.each([
    ['elsewhere', { source, allowFrom, platform: 'darwin' } as const, 'transparent-not-here'],
    ['from nobody in particular', { source, allowFrom: [], platform: 'linux' } as const, 'transparent-unguarded'],
    ['at no port', { source: given({ transparent: '0' }), allowFrom, platform: 'linux' } as const, 'setting-malformed'],
  ])('are refused %s', (_, request, code) => {
    expect(codesOf((problems) => readTransparentPort(request, problems))).toEqual([code]);
  });

  test.each(['', '65536', '-1', '80x', '1e3'])('have no port %j', (text) => {
    expect(() => parsePortSetting({ text, setting: '--port' })).toThrow(
      expect.objectContaining({ code: 'setting-malformed' }),
    );
  });
});
