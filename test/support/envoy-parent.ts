// `node test/support/envoy-parent.ts`: starts an Envoy and stays, for a test to kill.
import { systemClock } from '../../src/clock.ts';
import { startEnvoy } from '../../src/envoy/envoy-process.ts';
import type { Log } from '../../src/observe/log.ts';

const silent = (): void => undefined;
const log: Log = { debug: silent, info: silent, warn: silent, error: silent, with: () => log };

const envoy = await startEnvoy({
  binary: process.env['BINARY'] ?? '',
  bootstrapPath: process.env['BOOTSTRAP'] ?? '',
  adminSocket: process.env['ADMIN'] ?? '',
  listen: [],
  log,
  clock: systemClock,
  readyTimeoutMs: 20_000,
  concurrency: 1,
});
console.log(`Envoy runs as ${envoy.pid}`);
await envoy.exited;
