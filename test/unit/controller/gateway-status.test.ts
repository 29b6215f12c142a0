// Conditions, the status around them, and the events that their changes make.
import { describe, expect, test } from 'vitest';
import { minutes, plus } from '../../../src/clock.ts';
import { buildBundle } from '../../../src/controller/build-bundle.ts';
import { conditionEvents } from '../../../src/controller/condition-events.ts';
import { conditionTable, conditionTypes } from '../../../src/controller/condition-table.ts';
import type { Judgements } from '../../../src/controller/controller-types.ts';
import { equalStatus, gatewayStatus, type StatusRequest } from '../../../src/controller/gateway-status.ts';
import { judge } from '../../../src/controller/judge.ts';
import { judgePublication, type Publication } from '../../../src/controller/judge-publication.ts';
import { gatingConditions, judgeReady, type Obstacles } from '../../../src/controller/judge-ready.ts';
import { mergeConditions } from '../../../src/controller/merge-conditions.ts';
import { readStatus } from '../../../src/settings/egress-gateway-status.ts';
import { bundleGateway, KeptBundle } from '../../support/bundle-workshop.ts';
import { makeCa, testNow } from '../../support/ca-workshop.ts';

const later = plus(testNow, minutes(1));
const good: Judgements = {
  CAPoolReady: judge('CAPoolReady', 'Ready', 'good'),
  TrustBundlePublished: judge('TrustBundlePublished', 'Published', 'good'),
  TLSConfigured: judge('TLSConfigured', 'UnixSocket', 'good'),
};
const terms = { generation: 3, now: testNow };
const [one, two] = [makeCa({ name: 'one' }).certificate, makeCa({ name: 'two\u202e' }).certificate];

function keptBundle(): KeptBundle {
  const kept = new KeptBundle();
  const anchors = [one, two].map((certificate, index) => ({ id: `ca-${index}`, certificate }));
  const gateway = bundleGateway();
  kept.apply(buildBundle({ gateway, anchors, activeId: 'ca-1', version: 'v1', existing: undefined, now: testNow }));
  return kept;
}

describe('conditions', () => {
  test('stand in the order of the table, with the generation that they were judged on', () => {
    const backwards = Object.fromEntries(Object.entries(good).toReversed());
    const merged = mergeConditions([], backwards, terms);
    expect(merged.map(({ type }) => type)).toEqual(['CAPoolReady', 'TrustBundlePublished', 'TLSConfigured']);
    expect(merged[0]).toEqual({
      type: 'CAPoolReady',
      status: 'True',
      reason: 'Ready',
      message: 'good',
      lastTransitionTime: '2026-11-30T12:00:00Z',
      observedGeneration: 3,
    });
  });

  test('keep their time while the status stays, whatever the reason and the message do', () => {
    const bad = { CAPoolReady: judge('CAPoolReady', 'NotFound', 'a') };
    const worse = { CAPoolReady: judge('CAPoolReady', 'Malformed', 'b') };
    const first = mergeConditions([], bad, terms);
    expect(mergeConditions(first, worse, { generation: 4, now: later })).toMatchObject([
      { reason: 'Malformed', message: 'b', lastTransitionTime: '2026-11-30T12:00:00Z', observedGeneration: 4 },
    ]);
    expect(mergeConditions(first, good, { ...terms, now: later })[0]?.lastTransitionTime).toBe('2026-11-30T12:01:00Z');
  });

  test('go when they are not judged any more, and get a time where theirs is none', () => {
    const first = mergeConditions([], good, terms);
    expect(mergeConditions(first, {}, terms)).toEqual([]);
    const bent = first.map((condition) => ({ ...condition, lastTransitionTime: 'yesterday' }));
    expect(mergeConditions(bent, good, terms)[0]?.lastTransitionTime).toBe('2026-11-30T12:00:00Z');
  });

  test('have reasons and messages that the API takes', () => {
    for (const { reasons } of Object.values(conditionTable)) {
      for (const reason of Object.keys(reasons)) expect(reason).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
    }
    expect(judge('Ready', 'InvalidSpec', 'x'.repeat(100_000)).message.length).toBeLessThanOrEqual(32_768);
    expect(judge('Ready', 'InvalidSpec', `${'x'.repeat(4095)}😀`).message.isWellFormed()).toBe(true);
  });
});

describe('the status', () => {
  const request = (more: Partial<StatusRequest> = {}): StatusRequest => ({
    gateway: bundleGateway(),
    judgements: good,
    bundle: keptBundle().object,
    activeId: 'ca-1',
    servingTls: { secretName: 'serving', requiredDnsNames: ['a.b.svc'] },
    now: testNow,
    ...more,
  });

  test('says what is published, since when, what signs, and which names a serving certificate needs', () => {
    const status = gatewayStatus(request());
    expect(status).toMatchObject({
      observedGeneration: 1,
      bundle: { objectName: 'egress.example.com:mitm:pool' },
      pool: { activeID: 'ca-1', activeSince: '2026-11-30T12:00:00Z' },
      servingTLS: { secretName: 'serving', requiredDNSNames: ['a.b.svc'] },
    });
    expect(status.bundle?.sha256).toMatch(/^[0-9a-f]{64}$/);
    const expected = [
      [one, 'ca-0', /CN=one/],
      [two, 'ca-1', /CN=two\\u202e/],
    ] as const;
    for (const [{ sha256 }, id, subject] of expected) {
      const anchor = status.bundle?.anchors.find((entry) => entry.sha256 === sha256);
      expect(anchor).toMatchObject({ id, publishedAt: '2026-11-30T12:00:00Z', notAfter: '2027-11-30T12:00:00Z' });
      expect(anchor?.subject).toMatch(subject);
    }
  });

  test('is the same when it was lost, an hour later', () => {
    const lost = gatewayStatus(request({ now: plus(testNow, minutes(60)) }));
    expect(lost.bundle).toEqual(gatewayStatus(request()).bundle);
    expect(lost.pool).toEqual(gatewayStatus(request()).pool);
  });

  test('is equal to itself as read back, so that nothing is written in steady state', () => {
    const written = gatewayStatus(request());
    const again = gatewayStatus(request({ gateway: bundleGateway({ status: written }), now: later }));
    expect(equalStatus(written, again)).toBe(true);
    expect(equalStatus(readStatus(JSON.parse(JSON.stringify(written))), written)).toBe(true);
    const reordered = Object.fromEntries(Object.entries(written).toReversed()) as typeof written;
    expect(equalStatus(reordered, written)).toBe(true);
    const foreign = { type: 'Foreign', status: 'True', reason: 'A', message: '', lastTransitionTime: '' } as const;
    expect(equalStatus({ ...written, conditions: [foreign, ...written.conditions] }, written)).toBe(true);
  });

  test('differs when a message, a time, a condition or a leftover does', () => {
    const written = gatewayStatus(request());
    const plain = gatewayStatus(request({ servingTls: undefined }));
    expect(plain).not.toHaveProperty('servingTLS');
    expect(equalStatus(written, plain)).toBe(false);
    const [first, ...rest] = written.conditions;
    expect(equalStatus({ ...written, conditions: rest }, written)).toBe(false);
    expect(equalStatus({ ...written, conditions: [{ ...first!, message: 'b' }, ...rest] }, written)).toBe(false);
    expect(equalStatus({ ...written, observedGeneration: 2 }, written)).toBe(false);
  });

  test('says nothing of the bundle of another gateway, and keeps since when its own CA has been active', () => {
    const gateway = bundleGateway({
      name: 'other',
      status: { pool: { activeID: 'ca-1', activeSince: '2026-11-29T00:00:00Z' }, conditions: [] },
    });
    const status = gatewayStatus(request({ gateway }));
    expect(status).not.toHaveProperty('bundle');
    expect(status.pool).toEqual({ activeID: 'ca-1', activeSince: '2026-11-29T00:00:00Z' });
    expect(gatewayStatus(request({ gateway, activeId: 'ca-2' })).pool?.activeSince).toBe('2026-11-30T12:00:00Z');
  });

  test('says which CA was active last while the pool is gone, and nothing when the bundle is gone too', () => {
    expect(gatewayStatus(request({ activeId: undefined })).pool?.activeID).toBe('ca-1');
    expect(gatewayStatus(request({ activeId: undefined, bundle: undefined }))).not.toHaveProperty('pool');
  });
});

describe('Ready', () => {
  const cases: readonly [string, Judgements, Obstacles, string][] = [
    ['all is well', good, {}, 'Ready'],
    ['nothing was judged', {}, {}, 'Pending'],
    ['the spec cannot be read', {}, { InvalidSpec: 'a' }, 'InvalidSpec'],
    ['a bound is crossed', good, { SignerNotAllowed: 'a', RenderingTooLarge: 'b' }, 'SignerNotAllowed'],
    ['the pool is bad', { ...good, CAPoolReady: judge('CAPoolReady', 'NotFound', '') }, {}, 'CAPoolNotReady'],
    [
      'there is no API for bundles',
      { ...good, TrustBundlePublished: judge('TrustBundlePublished', 'APINotServed', '') },
      {},
      'TrustBundleNotPublished',
    ],
    ['TLS is off by choice', { ...good, TLSConfigured: judge('TLSConfigured', 'ExplicitlyDisabled', '') }, {}, 'Ready'],
    [
      'TLS is off by oversight',
      { ...good, TLSConfigured: judge('TLSConfigured', 'TLSBlockMissing', '') },
      {},
      'TLSNotConfigured',
    ],
    [
      'the serving Secret is bad',
      { ...good, ServingTLSSecretReady: judge('ServingTLSSecretReady', 'TLSSecretExpired', '') },
      {},
      'ServingTLSSecretNotReady',
    ],
    [
      'a ConfigMap is missing',
      { ...good, OriginCABundleResolved: judge('OriginCABundleResolved', 'KeyNotFound', '') },
      {},
      'OriginCABundleNotResolved',
    ],
    [
      'the other one is',
      { ...good, ClientCABundleResolved: judge('ClientCABundleResolved', 'KeyNotFound', '') },
      {},
      'ClientCABundleNotResolved',
    ],
    [
      'a client certificate is bad',
      { ...good, OriginClientCertificatesReady: judge('OriginClientCertificatesReady', 'SecretNotFound', '') },
      {},
      'OriginClientCertificatesNotReady',
    ],
    ['there is too much to render', good, { RenderingTooLarge: 'a' }, 'RenderingTooLarge'],
    ['files cannot be written', good, { FilesNotWritten: 'a' }, 'FilesNotWritten'],
    ['another gateway has the Deployment', good, { DeploymentTaken: 'a' }, 'DeploymentTaken'],
    ['the Deployment mounts no files', good, { DeploymentWithoutFiles: 'a' }, 'DeploymentWithoutFiles'],
    ['there is no Deployment', good, { DeploymentNotFound: 'a' }, 'DeploymentNotFound'],
  ];
  test.each(cases)('when %s', (_, judgements, obstacles, reason) => {
    expect(judgeReady(judgements, obstacles).reason).toBe(reason);
  });

  test('names everything that is in the way, the first thing first', () => {
    const bad = { ...good, CAPoolReady: judge('CAPoolReady', 'NotFound', 'no Secret') };
    expect(judgeReady(bad, { RenderingTooLarge: 'of 1 MiB' })).toEqual({
      status: 'False',
      reason: 'CAPoolNotReady',
      message: 'CAPoolReady is False, NotFound; of 1 MiB',
    });
  });

  test('names a condition by its reason, and leaves the sentence to it', () => {
    const bad = { ...good, TrustBundlePublished: judge('TrustBundlePublished', 'SignerNotAllowed', 'not this signer') };
    expect(judgeReady(bad, { SignerNotAllowed: 'not this signer' })).toEqual({
      status: 'False',
      reason: 'SignerNotAllowed',
      message: 'not this signer; TrustBundlePublished is False, SignerNotAllowed',
    });
  });

  test('every reason of its table can be given', () => {
    const given = new Set(cases.map(([, , , reason]) => reason));
    expect(Object.keys(conditionTable.Ready.reasons).filter((reason) => !given.has(reason))).toEqual([]);
  });

  test('the first rendering waits for every condition, but not for an API that is not served or a choice', () => {
    expect(gatingConditions({})).toEqual(['CAPoolReady', 'TrustBundlePublished', 'TLSConfigured']);
    expect(gatingConditions(good)).toEqual([]);
    const degraded = {
      ...good,
      TrustBundlePublished: judge('TrustBundlePublished', 'APINotServed', ''),
      TLSConfigured: judge('TLSConfigured', 'ExplicitlyDisabled', ''),
      ServingTLSSecretReady: judge('ServingTLSSecretReady', 'TLSSecretNotFound', ''),
    };
    expect(gatingConditions(degraded)).toEqual(['ServingTLSSecretReady']);
  });
});

describe('what is said of the bundle', () => {
  const noAnchors = {
    judgement: judge('CAPoolReady', 'Malformed', ''),
    anchors: [],
    isPublishable: false,
    activeId: undefined,
    changesAt: [],
  };
  const anchors = [{ id: 'a', certificate: one }];
  const pool = { ...noAnchors, anchors, isPublishable: true };
  const place = {
    objectName: 'egress.example.com:mitm:pool',
    signerName: 'egress.example.com/mitm',
    namespace: 'egress',
  };
  const owner = { namespace: 'x', name: 'y' };
  const failed = (kind: 'forbidden' | 'invalid' | 'too-large' | 'unavailable' | 'conflict', message: string) =>
    ({ kind: 'failed', failure: { kind, message } }) as const;

  test.each<[string, Publication, typeof pool | typeof noAnchors, string, RegExp]>([
    ['it stands', { kind: 'stands' }, pool, 'Published', /has the anchor of the pool/],
    ['it is kept', { kind: 'stands' }, noAnchors, 'Published', /stays as it was last published/],
    [
      'it is kept for a time',
      { kind: 'stands', until: testNow },
      noAnchors,
      'Published',
      /withdrawn at 2026-11-30T12:00:00Z/,
    ],
    ['there is none', { kind: 'none' }, noAnchors, 'PoolNotReady', /see CAPoolReady/],
    [
      'it is of another',
      { kind: 'conflict', owner, isCertain: true },
      pool,
      'Conflict',
      /belongs to the gateway x\/y: give/,
    ],
    [
      'it may be of another',
      { kind: 'conflict', owner, isCertain: false },
      pool,
      'Conflict',
      /x\/y, which is in a namespace/,
    ],
    ['it has another signer', { kind: 'foreign-signer', signerName: 'a/b' }, pool, 'Conflict', /has the signer a\/b/],
    ['it is served nowhere', { kind: 'not-served' }, pool, 'APINotServed', /feature gate ClusterTrustBundle/],
    [
      'its signer is out of bounds',
      { kind: 'signer-not-allowed' },
      pool,
      'SignerNotAllowed',
      /--signer 'egress=egress\.example\.com\/\*'/,
    ],
    [
      'the controller may not attest',
      failed('forbidden', 'user not permitted to attest for signerName "egress.example.com/mitm"'),
      pool,
      'AttestDenied',
      /verb attest on signers .* egress\.example\.com\/mitm or egress\.example\.com\/\*/,
    ],
    ['the controller may not write', failed('forbidden', 'cannot patch'), pool, 'Unavailable', /cannot patch: grant/],
    ['the API server refuses it', failed('invalid', 'bad'), pool, 'Rejected', /bad/],
    ['it is too large', failed('too-large', 'big'), pool, 'Rejected', /big/],
    ['the API server is away', failed('unavailable', 'down'), pool, 'Unavailable', /just now: down; it is tried again/],
    ['somebody was faster', failed('conflict', 'changed'), pool, 'Unavailable', /tried again/],
  ])('when %s', (...[, publication, of, reason, message]) => {
    const judged = judgePublication(publication, { ...place, pool: of });
    expect(judged.reason).toBe(reason);
    expect(judged.message).toMatch(message);
  });
});

describe('events', () => {
  const first = mergeConditions([], good, terms);

  test('come with a status or a reason that is another, and with nothing else', () => {
    expect(conditionEvents(first, first)).toEqual([]);
    const reworded = mergeConditions(
      first,
      { ...good, CAPoolReady: judge('CAPoolReady', 'Ready', 'other words') },
      terms,
    );
    expect(conditionEvents(first, reworded)).toEqual([]);
    const bad = mergeConditions(first, { ...good, CAPoolReady: judge('CAPoolReady', 'NotFound', 'no Secret') }, terms);
    expect(conditionEvents(first, bad)).toEqual([
      { type: 'Warning', reason: 'NotFound', action: 'Judge', note: 'CAPoolReady: no Secret' },
    ]);
    const worse = mergeConditions(bad, { ...good, CAPoolReady: judge('CAPoolReady', 'Malformed', 'x') }, terms);
    expect(conditionEvents(bad, worse)).toMatchObject([{ type: 'Warning', reason: 'Malformed' }]);
    expect(conditionEvents(bad, first)).toMatchObject([{ type: 'Normal', reason: 'Ready' }]);
  });

  test('come for the first judgement, and for none that is pending', () => {
    const pending = mergeConditions([], { Ready: judge('Ready', 'Pending', '') }, terms);
    expect(conditionEvents([], pending)).toEqual([]);
    expect(conditionEvents([], first).map(({ reason }) => reason)).toEqual(['Ready', 'Published', 'UnixSocket']);
  });

  test('the table has every type that is judged', () => {
    expect(conditionTypes).toHaveLength(8);
  });
});
