// Rounds that come by the clock alone: a pool that has been gone for its time, certificates that begin and end, waits longer than
// a timer of Node can count; and what a wall clock that is set forth or back does to them.
import { describe, expect, test } from 'vitest';
import { days, epoch, hours, millis, minutes, plus, seconds, type Clock, type EpochMs } from '../../../src/clock.ts';
import { buildBundle } from '../../../src/controller/build-bundle.ts';
import { earliestAfter } from '../../../src/controller/certificate-dates.ts';
import { decideBundle } from '../../../src/controller/decide-bundle.ts';
import { judgeClientCertificates } from '../../../src/controller/judge-client-certificates.ts';
import { judgePool } from '../../../src/controller/judge-pool.ts';
import type { Publication } from '../../../src/controller/judge-publication.ts';
import { judgeServingSecret } from '../../../src/controller/judge-serving-secret.ts';
import { mergeConditions } from '../../../src/controller/merge-conditions.ts';
import { judge } from '../../../src/controller/judge.ts';
import { nextRound } from '../../../src/controller/next-round.ts';
import { createWorkQueue } from '../../../src/controller/work-queue.ts';
import { bundleGateway, KeptBundle } from '../../support/bundle-workshop.ts';
import { makeCa, testNow } from '../../support/ca-workshop.ts';
import { issueCredential, type TestCredential } from '../../support/credential-workshop.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { foundSecret, testNamespace } from '../../support/observed-objects.ts';
import { caFields, poolBytes } from '../../support/pool-workshop.ts';

const certificate = makeCa({ name: 'one' }).certificate;
const resyncMs = minutes(10);
const random = (): number => 0.5;

/** a gateway whose pool has just gone, looked at as the queue does; `isThere` of its bundle */
function withoutPool(clock: FakeClock, retainForMs = minutes(10)) {
  const gateway = bundleGateway({ retainForMs });
  const kept = new KeptBundle();
  const anchors = [{ id: 'a', certificate }];
  kept.apply(buildBundle({ gateway, anchors, activeId: 'a', version: 'v1', existing: undefined, now: clock.now() }));
  let rounds = 0;
  const round = (): Publication => {
    rounds += 1;
    const intent = { kind: 'pool-gone' } as const;
    const decision = decideBundle({ gateway, intent, existing: kept.object, ownerState: 'claims', now: clock.now() });
    if (decision.kind === 'remove') kept.remove(decision);
    if (decision.kind === 'apply') kept.apply(decision.body);
    if (decision.kind !== 'apply' && decision.kind !== 'wait') return { kind: 'none' };
    return { kind: 'stands', ...(decision.until === undefined ? {} : { until: decision.until }) };
  };
  const queue = createWorkQueue({
    ...{ clock, random, parallel: 1, failed: () => undefined },
    run: () => Promise.resolve(nextRound(round(), {}, { clock, random, resyncMs })),
  });
  queue.add('egress/gateway');
  return { isThere: () => kept.object !== undefined, rounds: () => rounds };
}

async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 30_000) {
    clock.advance(Math.min(30_000, ms - passed));
    await new Promise((resolve) => void setImmediate(resolve));
  }
}

describe('a bundle whose pool has gone', () => {
  test('is withdrawn after retainFor, to the second, although nothing tells of it', async () => {
    const clock = createFakeClock(testNow);
    const { isThere } = withoutPool(clock);
    await pass(clock, minutes(10) - 1000);
    expect(isThere()).toBe(true);
    await pass(clock, 1000);
    expect(isThere()).toBe(false);
  });

  test.each([
    ['an hour', hours(1)],
    ['a day', days(1)],
  ])('stays for at most retainFor from when a clock is set back by %s', async (_, step) => {
    const clock = createFakeClock(testNow);
    const { isThere, rounds } = withoutPool(clock);
    await pass(clock, minutes(4));
    clock.setWallTime(clock.now() - step);
    // seen at the round that was due, and counted anew from there
    await pass(clock, minutes(6));
    expect(isThere()).toBe(true);
    await pass(clock, minutes(10));
    expect(isThere()).toBe(false);
    expect(rounds()).toBeLessThan(10);
  });

  test.each([
    ['an hour', hours(1)],
    ['a day', days(1)],
  ])('goes at the next round when a clock is set forth by %s: no other time is known', async (_, step) => {
    const clock = createFakeClock(testNow);
    const { isThere, rounds } = withoutPool(clock);
    await pass(clock, minutes(4));
    clock.setWallTime(clock.now() + step);
    await pass(clock, minutes(6));
    expect(isThere()).toBe(false);
    expect(rounds()).toBeLessThan(10);
  });

  test('stays for the longest retainFor, which no timer of Node can count, without a round too many', async () => {
    const delays: number[] = [];
    const fake = createFakeClock(testNow);
    const clock: FakeClock = {
      ...fake,
      after: (delay, run) => {
        delays.push(delay);
        return fake.after(delay, run);
      },
    };
    const { isThere, rounds } = withoutPool(clock, hours(720));
    await pass(clock, hours(719));
    expect(isThere()).toBe(true);
    await pass(clock, hours(1));
    expect(isThere()).toBe(false);
    // two resyncs a quarter of an hour, at 7.5 minutes each
    expect(rounds()).toBeLessThan((720 * 60) / 7.5 + 5);
    expect(Math.max(...delays)).toBeLessThan(2 ** 31);
  });
});

test('a wait longer than the timers of Node can count does not end at once', async () => {
  const delays: number[] = [];
  const fake = createFakeClock();
  const clock: Clock = { ...fake, after: (delay, run) => (delays.push(delay), fake.after(delay, run)) };
  const run = () => Promise.resolve({ kind: 'done', againAfterMs: hours(876_000) } as const);
  createWorkQueue({ clock, random, parallel: 1, run, failed: () => undefined }).add('a');
  await new Promise((resolve) => void setImmediate(resolve));
  expect(delays.length).toBe(1);
  expect(Math.max(...delays)).toBeLessThan(2 ** 31);
});

test('the time of a transition stays where it is when a clock steps, and moves with the next one', () => {
  const good = { CAPoolReady: judge('CAPoolReady', 'Ready', '') };
  const at = (now: EpochMs) => ({ generation: 1, now });
  const before = mergeConditions([], good, at(testNow));
  for (const step of [days(1), days(-1), hours(1), hours(-1)])
    expect(mergeConditions(before, good, at(plus(testNow, step)))).toEqual(before);
  const bad = { CAPoolReady: judge('CAPoolReady', 'Expired', '') };
  const [changed] = mergeConditions(before, bad, at(plus(testNow, hours(-1))));
  expect(changed?.lastTransitionTime).toBe('2026-11-30T11:00:00Z');
});

describe('a certificate that begins or ends is judged anew when it does', () => {
  const secret = { namespace: testNamespace, name: 'a' };
  /** the reasons from now on, each found at the time that the one before it named */
  const reasonsOf = (
    judgeAt: (now: EpochMs) => { readonly reason: string; readonly changesAt: readonly EpochMs[] },
  ): readonly string[] => {
    const reasons: string[] = [];
    for (let now: EpochMs | undefined = testNow; now !== undefined;) {
      const { reason, changesAt } = judgeAt(now);
      if (reasons.at(-1) !== reason) reasons.push(reason);
      now = earliestAfter(now, changesAt);
    }
    return reasons;
  };
  const [begins, ends] = [plus(testNow, hours(1)), plus(testNow, days(90))];
  const issuer = makeCa({ name: 'issuer' });
  const dated = issueCredential(issuer, { notBefore: begins, notAfter: ends, dnsNames: ['a.test'] });
  const found = ({ certificatePem, keyPem }: TestCredential) =>
    foundSecret('a', { 'tls.crt': certificatePem, 'tls.key': keyPem });

  test('in a pool, also when its end comes near', () => {
    const observed = foundSecret('a', {
      pool: poolBytes([caFields('a', makeCa({ notBefore: begins, notAfter: ends }))]),
    });
    const reasons = reasonsOf((now) => {
      const { judgement, changesAt } = judgePool(observed, {
        ...{ secret, now, allowEd25519: false, shortestLeafMs: minutes(2) },
      });
      const isWarning = judgement.message.includes('only until');
      return { reason: isWarning ? 'warned' : judgement.reason, changesAt };
    });
    expect(reasons).toEqual(['SignerNotUsable', 'Ready', 'warned', 'SignerNotUsable', 'Expired']);
  });

  test('in a serving Secret', () => {
    const reasons = reasonsOf((now) => {
      const terms = { secret, requiredDnsNames: ['a.test'], now };
      const { judgement, changesAt } = judgeServingSecret(found(dated), terms);
      return { reason: judgement.reason, changesAt };
    });
    expect(reasons).toEqual(['TLSSecretExpired', 'TLSSecretReady', 'TLSSecretExpired']);
  });

  test('among client certificates for origins', () => {
    const other = issueCredential(issuer, { notBefore: testNow, notAfter: plus(testNow, days(30)) });
    const given = [dated, other].map((one) => ({ secret, observed: found(one) }));
    const reasons = reasonsOf((now) => {
      const { judgement, changesAt } = judgeClientCertificates(given, now);
      return { reason: judgement.reason, changesAt };
    });
    expect(reasons).toEqual(['SecretExpired', 'SecretsReady', 'SecretExpired']);
  });

  test('and the round comes then, unless the resync or something else comes first', () => {
    const clock = createFakeClock(testNow);
    const terms = { clock, random, resyncMs };
    const wait = (dates: Parameters<typeof nextRound>[1], publication: Publication = { kind: 'none' }) =>
      nextRound(publication, dates, terms);
    const done = (againAfterMs: number) => ({ kind: 'done', againAfterMs });
    expect(wait({})).toEqual(done(minutes(7.5)));
    expect(wait({ changesAt: plus(testNow, minutes(3)) })).toEqual(done(minutes(3)));
    expect(wait({ changesAt: plus(testNow, minutes(30)) })).toEqual(done(minutes(7.5)));
    expect(wait({ changesAt: plus(testNow, minutes(3)), withinMs: seconds(15) })).toEqual(done(seconds(15)));
    expect(wait({ changesAt: plus(testNow, millis(-5)) })).toEqual(done(0));
    expect(wait({}, { kind: 'stands', until: plus(testNow, minutes(1)) })).toEqual(done(minutes(1)));
    expect(earliestAfter(testNow, [testNow, epoch(testNow - 1)])).toBeUndefined();
  });
});
