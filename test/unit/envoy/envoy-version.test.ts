import { chmodSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isAtLeast, parseEnvoyVersion, readEnvoyVersion, versionText } from '../../../src/envoy/envoy-version.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

describe('parseEnvoyVersion', () => {
  test.each([
    ['envoy  version: 9e5580933739775e8bce696a57a2e1bc99368f23/1.40.0/Clean/RELEASE/BoringSSL\n', '1.40.0'],
    ['x/envoy version: abc/1.41.2-dev/Modified/DEBUG/BoringSSL', '1.41.2'],
    ['1.37.0', '1.37.0'],
    ['v1.39.3', '1.39.3'],
  ])('reads %j', (text, expected) => {
    const version = parseEnvoyVersion(text);
    expect(version && versionText(version)).toBe(expected);
  });

  test.each(['', 'envoy', '1.40', '127.0.0.1x', `${'x'.repeat(2000)} 1.40.0`])('finds none in %j', (text) => {
    expect(parseEnvoyVersion(text)).toBeUndefined();
  });
});

describe('isAtLeast', () => {
  const v = (text: string) => {
    const version = parseEnvoyVersion(text);
    if (version === undefined) throw new Error(text);
    return version;
  };
  test.each([
    ['1.40.0', '1.40.0', true],
    ['1.40.1', '1.40.0', true],
    ['1.41.0', '1.40.9', true],
    ['2.0.0', '1.40.0', true],
    ['1.39.9', '1.40.0', false],
    ['1.9.0', '1.40.0', false],
    ['0.99.0', '1.40.0', false],
    ['1.40.0', '1.40.1', false],
  ])('%s against %s is %s', (version, minimum, expected) => {
    expect(isAtLeast(v(version), v(minimum))).toBe(expected);
  });
});

describe('readEnvoyVersion', () => {
  let folder: TempFolder;
  beforeEach(() => (folder = createTempFolder()));
  afterEach(() => folder.remove());

  const program = (text: string, mode = 0o755): string => {
    const path = folder.file('envoy');
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };

  test('asks the program itself', async () => {
    const path = program(
      '#!/bin/sh\n[ "$1" = --version ] && echo "envoy  version: c/1.40.0/Clean/RELEASE/BoringSSL"\n',
    );
    expect(await readEnvoyVersion(path)).toEqual({ kind: 'version', version: { major: 1, minor: 40, patch: 0 } });
  });

  test.each([
    ['is missing', () => folder.file('none'), 'no such file'],
    ['may not be executed', () => program('#!/bin/sh\n', 0o644), 'may not be executed'],
    ['fails', () => program('#!/bin/sh\necho "wrong libc" >&2\nexit 3\n'), 'wrong libc'],
    ['fails without a word', () => program('#!/bin/sh\nexit 3\n'), 'running it with --version failed (exit code 3)'],
    ['is another program', () => program('#!/bin/sh\necho hello\n'), 'does not tell its version'],
  ])('says what is wrong with one that %s', async (_, path, detail) => {
    expect(await readEnvoyVersion(path())).toMatchObject({
      kind: 'unusable',
      detail: expect.stringContaining(detail) as unknown,
    });
  });
});
