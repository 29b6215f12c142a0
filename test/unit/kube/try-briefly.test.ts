import { setImmediate as settled } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { coreErrors, LeafgateError } from '../../../src/errors.ts';
import { kubeError, ownFailure } from '../../../src/kube/kube-failure.ts';
import { tryBriefly } from '../../../src/kube/try-briefly.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const givenUp = (last: LeafgateError): LeafgateError => coreErrors.error('internal', { detail: last.message });

test('what passes is tried again for fifteen seconds, then it is given up', async () => {
  const clock = createFakeClock();
  let attempts = 0;
  const outcome = tryBriefly(
    clock,
    () => {
      attempts += 1;
      return Promise.reject(kubeError('list', ownFailure('unavailable', 'connection refused')));
    },
    givenUp,
  ).catch((thrown: unknown) => LeafgateError.from(thrown).code);
  for (const wait of [1000, 2000, 4000, 8000]) {
    await settled();
    clock.advance(wait);
  }
  expect(await outcome).toBe('internal');
  expect(attempts).toBe(5);
});

test('what a person must mend is not tried again', async () => {
  let attempts = 0;
  const outcome = tryBriefly(
    createFakeClock(),
    () => {
      attempts += 1;
      return Promise.reject(kubeError('list', ownFailure('unauthorized', 'no')));
    },
    givenUp,
  ).catch((thrown: unknown) => LeafgateError.from(thrown).code);
  expect(await outcome).toBe('kube-unauthorized');
  expect(attempts).toBe(1);
});
