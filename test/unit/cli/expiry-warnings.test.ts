// What the log says ahead of the end of a certificate of the SDS port.
import { expect, test } from 'vitest';
import { createExpiryWarnings } from '../../../src/cli/expiry-warnings.ts';
import { days, epoch, hours, minus, plus, type DurationMs } from '../../../src/clock.ts';
import type { Log } from '../../../src/observe/log.ts';
import { makeCa } from '../../support/ca-workshop.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const start = epoch(Date.UTC(2026, 0, 1));

function watch(lives: DurationMs) {
  const clock = createFakeClock(start);
  const told: string[] = [];
  const ignored = (): void => undefined;
  const warn = (sentence: string): void => void told.push(sentence);
  const log: Log = { debug: ignored, info: ignored, warn, error: ignored, with: () => log };
  const { certificate } = makeCa({ notBefore: start, notAfter: plus(start, lives) });
  const warnings = createExpiryWarnings({ clock, log, path: '/d', sentence: 'it will end' });
  /** how many warnings there have been by then, looked at every hour */
  const toldBefore = (left: DurationMs): number => {
    const until = minus(certificate.notAfter, left);
    while (clock.now() < until) {
      clock.advance(hours(1));
      warnings.look([certificate]);
    }
    return told.length;
  };
  return { toldBefore, warnings, certificate, told, clock };
}

test('a certificate of a year is warned about 30 days, 7 days and a day before its end, once each', () => {
  const { toldBefore } = watch(days(365));
  expect([days(31), days(29), days(8), days(6), days(2), hours(12), hours(1)].map(toldBefore)).toEqual([
    ...[0, 1, 1, 2, 2, 3, 3],
  ]);
});

test('one of 90 days is left alone until three quarters of that are over', () => {
  expect([days(29), days(23), days(22)].map(watch(days(90)).toldBefore)).toEqual([0, 0, 1]);
});

test('one of a day is warned about once, for its last six hours, and not again when it has ended', () => {
  const { toldBefore, warnings, certificate, told, clock } = watch(days(1));
  expect([hours(7), hours(6)].map(toldBefore)).toEqual([0, 1]);
  clock.advance(days(2));
  warnings.look([certificate]);
  expect(told).toHaveLength(1);
});

test('one that took its place is another one', () => {
  const { toldBefore, warnings, told, clock } = watch(days(365));
  toldBefore(hours(12));
  const { certificate } = makeCa({ notBefore: start, notAfter: plus(clock.now(), hours(2)) });
  warnings.look([certificate]);
  expect(told).toHaveLength(4);
});
