// The three projects: `unit` needs nothing but Node; `integration` starts real peers (Envoy, clients, linters), `cluster`
// real control planes of Kubernetes. They skip, with a reason, what the machine lacks (LEAFGATE_TEST_FORBID_SKIPS=1 turns a
// skip into a failure).
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          // a deadline for what hangs, far above what anything takes on a busy machine
          testTimeout: 30_000,
          include: ['test/unit/**/*.test.ts', 'test/property/**/*.test.ts'],
          pool: 'forks',
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts', 'test/conformance/**/*.test.ts', 'test/fault/**/*.test.ts'],
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'cluster',
          include: ['test/cluster/**/*.test.ts'],
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
