// An Envoy that comes, is busy, goes and comes back, as the admin socket shows it.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { attendEnvoy, type EnvoyWatch } from '../../../src/cli/attend-envoy.ts';
import type { AdminClient } from '../../../src/envoy/admin-client.ts';
import { envoyErrors } from '../../../src/envoy/envoy-errors.ts';
import { createMetrics } from '../../../src/observe/create-metrics.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { waitFor } from '../../support/wait-for.ts';

let clock: FakeClock;
let watch: EnvoyWatch;
let envoy: { readonly state: string; readonly uptime: number } | 'refused' | 'silent';
let welcomes: number;
let ends: number;
let failure: Error | undefined;

const admin: AdminClient = {
  get: () => {
    if (typeof envoy !== 'string') {
      const info = { state: envoy.state, uptime_current_epoch: `${envoy.uptime}s` };
      return Promise.resolve({ status: 200, body: JSON.stringify(info) });
    }
    const cause =
      envoy === 'silent' ? new Error('timeout') : Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    return Promise.reject(envoyErrors.error('envoy-admin-failed', { request: 'GET', detail: envoy }, cause));
  },
  post: () => Promise.reject(new Error('nothing is posted')),
  readStats: () => Promise.resolve(new Map()),
};

beforeEach(() => {
  clock = createFakeClock();
  [envoy, welcomes, ends, failure] = ['refused', 0, 0, undefined];
  watch = attendEnvoy({
    admin,
    clock,
    metrics: createMetrics({ withProcessMetrics: false }),
    ready: () => {
      if (failure !== undefined) return Promise.reject(failure);
      welcomes += 1;
      return Promise.resolve();
    },
    ended: () => {
      ends += 1;
      return Promise.resolve();
    },
  });
});
afterEach(() => watch.close());

/** lets time go by until that is what is missing */
async function missing(words: RegExp | undefined): Promise<void> {
  await waitFor(`what is missing to be ${words?.source ?? 'nothing'}`, () => {
    const now = watch.missing();
    if (words === undefined ? now === undefined : now !== undefined && words.test(now)) return true;
    clock.advance(1000);
    return false;
  });
}

/** some looks, whatever they find */
async function looks(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) {
    clock.advance(1000);
    await new Promise((done) => setImmediate(done));
  }
}

test('one that is not there, then starts, then is live is welcomed once', async () => {
  await missing(/does not answer/);
  envoy = { state: 'INITIALIZING', uptime: 0 };
  await missing(/not ready: INITIALIZING/);
  expect(welcomes).toBe(0);
  envoy = { state: 'LIVE', uptime: 1 };
  await missing(undefined);
  await looks();
  expect([welcomes, ends]).toEqual([1, 0]);
});

test('a welcome that fails is what is missing, and is tried again', async () => {
  failure = new Error('the self-check failed');
  envoy = { state: 'LIVE', uptime: 1 };
  await missing(/the self-check failed/);
  failure = undefined;
  await missing(undefined);
  expect(welcomes).toBe(1);
});

test('one that nobody listens for any more has ended, and the next one is welcomed anew', async () => {
  envoy = { state: 'LIVE', uptime: 100 };
  await missing(undefined);
  envoy = 'refused';
  await missing(/does not answer/);
  await looks();
  expect(ends).toBe(1);
  envoy = { state: 'LIVE', uptime: 200 };
  await missing(undefined);
  expect(welcomes).toBe(2);
});

test('one that is silent for a while is not ready, and has not ended', async () => {
  envoy = { state: 'LIVE', uptime: 100 };
  await missing(undefined);
  envoy = 'silent';
  await missing(/does not answer/);
  envoy = { state: 'LIVE', uptime: 130 };
  await missing(undefined);
  expect([welcomes, ends]).toEqual([1, 0]);
});

test('one that is younger than the last is another', async () => {
  envoy = { state: 'LIVE', uptime: 100 };
  await missing(undefined);
  envoy = { state: 'LIVE', uptime: 2 };
  await looks();
  expect([welcomes, ends]).toEqual([2, 0]);
});
