// Who owns a ClusterTrustBundle, when it is written, kept, withdrawn or left alone.
import { describe, expect, test } from 'vitest';
import { minutes, plus, type EpochMs } from '../../../src/clock.ts';
import { buildBundle, type BundleGateway } from '../../../src/controller/build-bundle.ts';
import { ownerStateOf, type OwnerState } from '../../../src/controller/bundle-claim.ts';
import { bundleAnnotations } from '../../../src/controller/bundle-record.ts';
import { bundleText } from '../../../src/x509/bundle-text.ts';
import {
  bundleIntent,
  decideBundle,
  type BundleDecision,
  type BundleIntent,
} from '../../../src/controller/decide-bundle.ts';
import { judge } from '../../../src/controller/judge.ts';
import type { KubeObject } from '../../../src/kube/kube-types.ts';
import { makeCa, testNow } from '../../support/ca-workshop.ts';
import { bundleGateway, KeptBundle } from '../../support/bundle-workshop.ts';

const [one, two] = [makeCa({ name: 'one' }).certificate, makeCa({ name: 'two' }).certificate];
const gateway = bundleGateway();

function build(
  of: BundleGateway,
  existing: KubeObject | undefined,
  now: EpochMs = testNow,
  certificates = [one],
): KubeObject {
  const anchors = certificates.map((certificate, index) => ({ id: `ca-${index + 1}`, certificate }));
  return buildBundle({ gateway: of, anchors, activeId: 'ca-1', version: 'v1', existing, now });
}

/** a bundle as `of` has published it */
function published(of: BundleGateway = gateway, certificates = [one]): KeptBundle {
  const kept = new KeptBundle();
  kept.apply(build(of, undefined, testNow, certificates));
  return kept;
}

const publish = (of: BundleGateway, kept: KeptBundle): BundleIntent => ({
  kind: 'publish',
  bundle: build(of, kept.object),
});

function decide(
  of: BundleGateway,
  kept: KeptBundle,
  intent: BundleIntent,
  more: { readonly ownerState?: OwnerState; readonly now?: EpochMs } = {},
): BundleDecision {
  return decideBundle({ gateway: of, intent, existing: kept.object, ownerState: 'claims', now: testNow, ...more });
}

const without =
  (name: string) =>
  (object: KubeObject): KubeObject => {
    const annotations = Object.entries(object.metadata.annotations ?? {}).filter(([key]) => key !== name);
    return { ...object, metadata: { ...object.metadata, annotations: Object.fromEntries(annotations) } };
  };
const withText =
  (trustBundle: string) =>
  (object: KubeObject): KubeObject => ({
    ...object,
    spec: { signerName: gateway.trustBundle.signerName, trustBundle },
  });
const withLabel =
  (key: string, value: string) =>
  (object: KubeObject): KubeObject => ({
    ...object,
    metadata: { ...object.metadata, labels: { ...object.metadata.labels, [key]: value } },
  });

describe('a good pool', () => {
  test('makes the bundle where there is none', () => {
    const kept = new KeptBundle();
    expect(decide(gateway, kept, publish(gateway, kept))).toMatchObject({
      kind: 'apply',
      body: {
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'ClusterTrustBundle',
        metadata: {
          name: 'egress.example.com:mitm:pool',
          labels: { 'example.com/team': 'a' },
          annotations: {
            'leafgate.dev/gateway': 'egress/gateway',
            'leafgate.dev/gateway-uid': 'uid-1',
            'leafgate.dev/anchors': JSON.stringify([
              { id: 'ca-1', sha256: one.sha256, publishedAt: '2026-11-30T12:00:00Z' },
            ]),
            'leafgate.dev/active': '{"id":"ca-1","since":"2026-11-30T12:00:00Z"}',
            'leafgate.dev/pool-gone-since': '',
            'leafgate.dev/labels': '["example.com/team"]',
          },
        },
        spec: { signerName: 'egress.example.com/mitm', trustBundle: bundleText([one]) },
      },
    });
  });

  test('writes nothing where all is as it shall be, whatever others have added', () => {
    const kept = published();
    kept.byHand(withLabel('others.example/label', 'b'));
    const decision = decideBundle({
      gateway,
      intent: { kind: 'publish', bundle: build(gateway, kept.object, plus(testNow, minutes(5))) },
      existing: kept.object,
      ownerState: 'claims',
      now: plus(testNow, minutes(5)),
    });
    expect(decision).toEqual({ kind: 'none' });
  });

  test.each<[string, (object: KubeObject) => KubeObject | undefined]>([
    ['another text', withText(bundleText([two]))],
    ['an anchor more', withText(bundleText([one, two]))],
    ['a comment', withText(`# by hand\n${bundleText([one])}`)],
    ['another label', withLabel('example.com/team', 'b')],
    ['no owner', without(bundleAnnotations.gateway)],
    ['no times', without(bundleAnnotations.anchors)],
    ['nothing at all', () => undefined],
  ])('restores a bundle that by hand got %s, others keep what is theirs', (_, edit) => {
    const kept = published();
    kept.byHand(withLabel('others.example/label', 'b'));
    const before = kept.object;
    kept.byHand(edit);
    const decision = decide(gateway, kept, publish(gateway, kept));
    expect(decision.kind).toBe('apply');
    if (decision.kind === 'apply') expect(kept.apply(decision.body)).toBe(true);
    expect(kept.object?.['spec']).toEqual(before?.['spec']);
    expect(kept.object?.metadata.annotations).toEqual(before?.metadata.annotations);
    expect(decide(gateway, kept, publish(gateway, kept))).toEqual({ kind: 'none' });
  });

  test('takes a label away that its spec does not have any more', () => {
    const kept = published();
    const relabelled = bundleGateway({ labels: { other: 'c' } });
    const decision = decide(relabelled, kept, publish(relabelled, kept));
    if (decision.kind === 'apply') kept.apply(decision.body);
    expect(kept.object?.metadata.labels).toEqual({ other: 'c' });
  });

  test('keeps the times of anchors that stay, and of a CA that stays active', () => {
    const kept = published();
    const later = plus(testNow, minutes(5));
    const { annotations } = build(gateway, kept.object, later, [two, one]).metadata;
    const list = JSON.parse(annotations?.[bundleAnnotations.anchors] ?? '') as readonly Record<string, string>[];
    expect(list.find(({ sha256 }) => sha256 === one.sha256)?.['publishedAt']).toBe('2026-11-30T12:00:00Z');
    expect(list.find(({ sha256 }) => sha256 === two.sha256)?.['publishedAt']).toBe('2026-11-30T12:05:00Z');
    expect(annotations?.[bundleAnnotations.active]).toContain('12:00:00Z');
  });

  test('takes the times from the status where the bundle has lost them', () => {
    const publishedAt = '2026-11-01T00:00:00Z';
    const told = { id: 'ca-1', subject: '', sha256: one.sha256, notAfter: publishedAt, publishedAt };
    const status = {
      bundle: { objectName: '', sha256: '', anchors: [told] },
      pool: { activeID: 'ca-1', activeSince: publishedAt },
      conditions: [],
    };
    const { annotations } = build(bundleGateway({ status }), undefined).metadata;
    expect(annotations?.[bundleAnnotations.anchors]).toContain(publishedAt);
    expect(annotations?.[bundleAnnotations.active]).toContain(publishedAt);
  });
});

test('what is wanted follows from the pool, and from whether the gateway is being deleted', () => {
  const pool = (
    reason: 'Ready' | 'NotFound' | 'Unavailable' | 'Malformed' | 'SignerNotUsable',
    isPublishable: boolean,
  ) => ({
    judgement: judge('CAPoolReady', reason, ''),
    anchors: isPublishable ? [{ id: 'a', certificate: one }] : [],
    isPublishable,
    activeId: undefined,
    changesAt: [],
  });
  const want = (of: BundleGateway, judged: ReturnType<typeof pool>) =>
    bundleIntent(of, judged, () => build(of, undefined)).kind;
  expect(want(gateway, pool('Ready', true))).toBe('publish');
  expect(want(gateway, pool('SignerNotUsable', true))).toBe('publish');
  expect(want(gateway, pool('Malformed', false))).toBe('keep');
  expect(want(gateway, pool('NotFound', false))).toBe('pool-gone');
  expect(want(gateway, pool('Unavailable', false))).toBe('wait-for-pool');
  expect(want(bundleGateway({ isDeleting: true }), pool('Ready', true))).toBe('withdraw');
  expect(want(bundleGateway({ isDeleting: true, deletionPolicy: 'Retain' }), pool('NotFound', false))).toBe('leave');
});

describe('a bundle of another gateway', () => {
  const other = bundleGateway({ name: 'other', uid: 'uid-2' });
  const intents: readonly BundleIntent['kind'][] = [
    'publish',
    'keep',
    'pool-gone',
    'withdraw',
    'leave',
    'wait-for-pool',
  ];
  const intentOf = (kind: BundleIntent['kind'], kept: KeptBundle): BundleIntent =>
    kind === 'publish' ? publish(other, kept) : { kind };

  test.each(intents)('is left alone while that one exists (%s), and is named', (kind) => {
    const kept = published();
    const owner = { namespace: 'egress', name: 'gateway' };
    expect(decide(other, kept, intentOf(kind, kept))).toEqual({ kind: 'conflict', owner, isCertain: true });
  });

  test.each(intents)('is left alone where nobody can tell whether that one exists (%s)', (kind) => {
    const kept = published();
    expect(decide(other, kept, intentOf(kind, kept), { ownerState: 'unknown' })).toMatchObject({
      kind: 'conflict',
      isCertain: false,
    });
  });

  test('is restored where only the name in it was edited, to a gateway that nobody can look for', () => {
    const kept = published();
    const annotations = { ...kept.object?.metadata.annotations, [bundleAnnotations.gateway]: 'elsewhere/gateway' };
    kept.byHand((object) => ({ ...object, metadata: { ...object.metadata, annotations } }));
    expect(decide(gateway, kept, publish(gateway, kept), { ownerState: 'unknown' }).kind).toBe('apply');
    expect(decide(gateway, kept, publish(gateway, kept), { ownerState: 'claims' }).kind).toBe('conflict');
  });

  test.each<[BundleIntent['kind'], BundleDecision['kind']]>([
    ['publish', 'apply'],
    ['pool-gone', 'remove'],
    ['withdraw', 'remove'],
    ['keep', 'none'],
    ['leave', 'none'],
    ['wait-for-pool', 'none'],
  ])('or of none is taken over when that one is gone: %s gives %s', (kind, expected) => {
    for (const edit of [(object: KubeObject) => object, without(bundleAnnotations.gateway)]) {
      const kept = published();
      kept.byHand(edit);
      expect(decide(other, kept, intentOf(kind, kept), { ownerState: 'gone' }).kind).toBe(expected);
    }
  });

  test('is taken over only as it was seen: a change in between is judged anew', () => {
    const kept = published();
    const decision = decide(other, kept, publish(other, kept), { ownerState: 'gone' });
    kept.byHand(withLabel('a', 'b'));
    expect(decision.kind === 'apply' && kept.apply(decision.body)).toBe(false);
  });

  test('with another signer is never touched', () => {
    const kept = published();
    kept.byHand((object) => ({ ...object, spec: { signerName: 'other.example/x', trustBundle: bundleText([two]) } }));
    for (const kind of intents) {
      expect(decide(gateway, kept, intentOf(kind, kept))).toEqual({
        kind: 'foreign-signer',
        signerName: 'other.example/x',
      });
    }
  });
});

describe('whether an owner still claims a bundle', () => {
  const owner = { namespace: 'egress', name: 'gateway', uid: 'uid-1' };
  const state = (found: { readonly objectName: string | undefined } | undefined, isWatched = true) =>
    ownerStateOf(owner, 'a:b', { isWatched: () => isWatched, find: () => found });

  test.each<[string, OwnerState, OwnerState]>([
    ['one that names it', state({ objectName: 'a:b' }), 'claims'],
    ['one whose spec cannot be read', state({ objectName: undefined }), 'claims'],
    ['one that names another', state({ objectName: 'a:c' }), 'gone'],
    ['one that is not there', state(undefined), 'gone'],
    ['one in a namespace that is not watched', state({ objectName: 'a:b' }, false), 'unknown'],
  ])('%s', (_, is, expected) => {
    expect(is).toBe(expected);
  });
});

describe('a pool that cannot be published', () => {
  test('keeps the last good bundle, and writes nothing', () => {
    for (const kind of ['keep', 'wait-for-pool'] as const) {
      expect(decide(gateway, published(), { kind })).toEqual({ kind: 'none' });
    }
  });

  test('makes no bundle where there is none', () => {
    for (const kind of ['keep', 'wait-for-pool', 'pool-gone', 'withdraw', 'leave'] as const) {
      expect(decide(gateway, new KeptBundle(), { kind })).toEqual({ kind: 'none' });
    }
  });

  test('lets an anchor go that was added by hand: the digests in the annotations tell', () => {
    const kept = published();
    kept.byHand(withText(bundleText([one, two])));
    const decision = decide(gateway, kept, { kind: 'keep' });
    expect(decision).toMatchObject({ kind: 'apply', body: { spec: { trustBundle: bundleText([one]) } } });
  });
});

describe('a pool that is gone', () => {
  const gone = { kind: 'pool-gone' } as const;
  const until = plus(testNow, minutes(10));

  /** the bundle after the pool has been found gone at testNow */
  function sinceNow(of: BundleGateway = gateway): KeptBundle {
    const kept = published(of);
    const decision = decide(of, kept, gone);
    expect(decision).toMatchObject({ kind: 'apply', until });
    if (decision.kind === 'apply') kept.apply(decision.body);
    expect(kept.object?.metadata.annotations?.[bundleAnnotations.poolGoneSince]).toBe('2026-11-30T12:00:00Z');
    return kept;
  }

  test('is noted in the bundle, which stays for retainFor and goes then', () => {
    const kept = sinceNow();
    expect(decide(gateway, kept, gone, { now: plus(testNow, minutes(9)) })).toEqual({ kind: 'wait', until });
    const decision = decide(gateway, kept, gone, { now: until });
    expect(decision).toMatchObject({ kind: 'remove' });
    if (decision.kind === 'remove') expect(kept.remove(decision)).toBe(true);
    expect(decide(gateway, kept, gone, { now: until })).toEqual({ kind: 'none' });
  });

  test('and comes back before, clears the note, also when it is bad', () => {
    for (const intent of ['publish', 'keep'] as const) {
      const kept = sinceNow();
      const decision = decide(gateway, kept, intent === 'publish' ? publish(gateway, kept) : { kind: intent });
      if (decision.kind === 'apply') kept.apply(decision.body);
      expect(kept.object?.metadata.annotations?.[bundleAnnotations.poolGoneSince]).toBe('');
      expect(kept.object?.metadata.annotations?.[bundleAnnotations.anchors]).toContain(one.sha256);
    }
  });

  test('counts on for a gateway that was made again meanwhile', () => {
    const kept = sinceNow();
    const again = bundleGateway({ uid: 'uid-9' });
    const decision = decide(again, kept, gone, { now: plus(testNow, minutes(4)) });
    expect(decision).toMatchObject({ kind: 'apply', until });
    if (decision.kind === 'apply') kept.apply(decision.body);
    expect(kept.object?.metadata.annotations?.[bundleAnnotations.gatewayUid]).toBe('uid-9');
    expect(decide(again, kept, gone, { now: until }).kind).toBe('remove');
  });

  test('withdraws at once where retainFor is nothing', () => {
    const hasty = bundleGateway({ retainForMs: minutes(0) });
    expect(decide(hasty, published(hasty), gone).kind).toBe('remove');
  });

  test.each([
    ['tomorrow', '2999-01-01T00:00:00Z'],
    ['nonsense', 'x'],
  ])('since %s counts from now', (_, since) => {
    const kept = sinceNow();
    const { poolGoneSince } = bundleAnnotations;
    kept.byHand((object) => ({
      ...object,
      metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [poolGoneSince]: since } },
    }));
    expect(decide(gateway, kept, gone)).toMatchObject({ kind: 'apply', until });
  });
});

describe('a gateway that is deleted', () => {
  test('takes its bundle along, guarded by what was seen', () => {
    const kept = published();
    const decision = decide(gateway, kept, { kind: 'withdraw' });
    const { uid, resourceVersion } = kept.object?.metadata ?? {};
    expect(decision).toEqual({ kind: 'remove', uid, resourceVersion });
    kept.byHand(withLabel('a', 'b'));
    expect(decision.kind === 'remove' && kept.remove(decision)).toBe(false);
  });

  test('does not remove what is on its way out already', () => {
    const kept = published();
    kept.byHand((object) => ({
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: '2026-11-30T12:00:00Z' },
    }));
    expect(decide(gateway, kept, { kind: 'withdraw' })).toEqual({ kind: 'none' });
  });

  test('leaves its bundle with Retain, and the gateway that is made again takes it over with its times', () => {
    const kept = published();
    expect(decide(gateway, kept, { kind: 'leave' })).toEqual({ kind: 'none' });
    const again = bundleGateway({ uid: 'uid-2' });
    const bundle = build(again, kept.object, plus(testNow, minutes(3)));
    const decision = decide(again, kept, { kind: 'publish', bundle }, { now: plus(testNow, minutes(3)) });
    if (decision.kind === 'apply') kept.apply(decision.body);
    expect(kept.object?.metadata.annotations).toMatchObject({
      [bundleAnnotations.gatewayUid]: 'uid-2',
      [bundleAnnotations.active]: '{"id":"ca-1","since":"2026-11-30T12:00:00Z"}',
    });
  });
});
