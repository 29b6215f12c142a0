// Two gateways that want one ClusterTrustBundle, through whatever happens to them, their pools and the bundle: never two
// owners, never a delete of what is another's, never an empty bundle, no write where nothing has changed, no key anywhere.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { minutes, plus, type EpochMs } from '../../src/clock.ts';
import { buildBundle, type BundleGateway } from '../../src/controller/build-bundle.ts';
import { bundleContent } from '../../src/kube/bundle-content.ts';
import { ownerStateOf } from '../../src/controller/bundle-claim.ts';
import { bundleOwner } from '../../src/controller/bundle-record.ts';
import { bundleText } from '../../src/x509/bundle-text.ts';
import { readBundleText } from '../../src/controller/bundle-text.ts';
import { conditionEvents } from '../../src/controller/condition-events.ts';
import type { Observed, SecretContent } from '../../src/controller/controller-types.ts';
import { bundleIntent, decideBundle, type BundleDecision } from '../../src/controller/decide-bundle.ts';
import { equalStatus, gatewayStatus } from '../../src/controller/gateway-status.ts';
import { judgePool, type PoolJudgement } from '../../src/controller/judge-pool.ts';
import type { KubeObject } from '../../src/kube/kube-types.ts';
import type { EgressGatewayStatus } from '../../src/settings/egress-gateway-types.ts';
import { bundleGateway, KeptBundle } from '../support/bundle-workshop.ts';
import { makeCa, testNow } from '../support/ca-workshop.ts';
import { findKeyTraces } from '../support/key-traces.ts';
import { absent, foundSecret, testNamespace, unavailable } from '../support/observed-objects.ts';
import { base64, caFields, poolBytes } from '../support/pool-workshop.ts';

const cas = ['one', 'two', 'three'].map((name) => makeCa({ name }));
const keys = cas.map(({ key }) => key);
const planted = makeCa({ name: 'planted' }).certificate;

const secretOf = (bytes: Uint8Array) => foundSecret('pool', { pool: bytes });
const fieldsOf = (index: number) => caFields(`ca-${index}`, cas[index]);
/** a key where a certificate belongs */
const leaky = { ...fieldsOf(0), RootCertificateDER: base64(keys[0]!.export({ format: 'der', type: 'pkcs8' })) };
const pools: readonly Observed<SecretContent>[] = [
  ...[[0], [1], [0, 1], [1, 0], [0, 1, 2]].map((list) => secretOf(poolBytes(list.map(fieldsOf)))),
  secretOf(poolBytes([fieldsOf(0), fieldsOf(1)], 'ca-1')),
  secretOf(poolBytes([fieldsOf(0)], 'ca-7')),
  secretOf(poolBytes([leaky, fieldsOf(1)], 'ca-1')),
  secretOf(Buffer.from('{')),
  absent,
  unavailable(),
];
const judged: readonly PoolJudgement[] = pools.map((observed) =>
  judgePool(observed, {
    secret: { namespace: testNamespace, name: 'pool' },
    now: testNow,
    allowEd25519: false,
    shortestLeafMs: minutes(2),
  }),
);

const gonePool = pools.indexOf(absent);

const names = ['a', 'b'] as const;
type Name = (typeof names)[number];
type Event =
  | { readonly kind: 'create'; readonly of: Name; readonly retain: boolean; readonly labels: number }
  | { readonly kind: 'delete' | 'force-delete' | 'lose-status' | 'reconcile'; readonly of: Name }
  | { readonly kind: 'pool'; readonly of: Name; readonly pool: number }
  | { readonly kind: 'edit'; readonly how: number }
  | { readonly kind: 'wait'; readonly minutes: number };

const labelSets = [{}, { team: 'a' }, { team: 'b', tier: '' }];
const of = fc.constantFrom(...names);
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('create'), of, retain: fc.boolean(), labels: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('delete', 'force-delete', 'lose-status'), of }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pool'),
      of,
      pool: fc.oneof(fc.nat(pools.length - 1), fc.constant(gonePool)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('edit'), how: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait'), minutes: fc.nat(15) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('reconcile'), of }) },
);

const edits: readonly ((object: KubeObject) => KubeObject | undefined)[] = [
  () => undefined,
  (object) => ({ ...object, spec: { ...bundleContent(object), trustBundle: bundleText([planted]) } }),
  (object) => {
    const { signerName, trustBundle } = bundleContent(object);
    return { ...object, spec: { signerName, trustBundle: bundleText([...readBundleText(trustBundle), planted]) } };
  },
  (object) => ({ ...object, metadata: { ...object.metadata, annotations: {} } }),
  (object) => ({ ...object, metadata: { ...object.metadata, labels: { team: 'by hand', others: 'kept' } } }),
  (object) => ({ ...object, metadata: { ...object.metadata, annotations: { others: 'kept' }, labels: {} } }),
];

class World {
  readonly kept = new KeptBundle();
  now: EpochMs = testNow;
  readonly #gateways = new Map<Name, BundleGateway>();
  readonly #pools = new Map<Name, PoolJudgement>();
  readonly said: unknown[] = [];
  #uids = 0;

  happen(what: Event): void {
    switch (what.kind) {
      case 'create': {
        if (this.#gateways.has(what.of)) return;
        this.#uids += 1;
        const request = { name: what.of, uid: `uid-${this.#uids}`, labels: labelSets[what.labels] ?? {} };
        const deletionPolicy = what.retain ? 'Retain' : 'Delete';
        this.#gateways.set(what.of, bundleGateway({ ...request, deletionPolicy }));
        return;
      }
      case 'delete':
        this.#change(what.of, { isDeleting: true });
        return;
      case 'force-delete':
        this.#gateways.delete(what.of);
        return;
      case 'lose-status':
        this.#change(what.of, { status: { conditions: [] } });
        return;
      case 'pool':
        this.#pools.set(what.of, judged[what.pool]!);
        return;
      case 'edit':
        this.#editByHand(what.how);
        return;
      case 'wait':
        this.now = plus(this.now, minutes(what.minutes));
        return;
      case 'reconcile':
        this.reconcile(what.of);
        return;
    }
  }

  #change(name: Name, change: Partial<BundleGateway>): void {
    const gateway = this.#gateways.get(name);
    if (gateway !== undefined) this.#gateways.set(name, { ...gateway, ...change });
  }

  #editByHand(how: number): void {
    if (this.kept.object !== undefined) {
      this.kept.byHand(edits[how]!);
      return;
    }
    const { objectName, signerName } = bundleGateway().trustBundle;
    this.kept.plant({
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'ClusterTrustBundle',
      metadata: { name: objectName },
      spec: { signerName, trustBundle: bundleText([planted]) },
    });
  }

  poolOf(name: Name): PoolJudgement {
    return this.#pools.get(name) ?? judged[gonePool]!;
  }

  gateway(name: Name): BundleGateway | undefined {
    return this.#gateways.get(name);
  }

  decide(gateway: BundleGateway, name: Name): BundleDecision {
    const existing = this.kept.object;
    const pool = this.poolOf(name);
    const { anchors, activeId } = pool;
    const intent = bundleIntent(gateway, pool, () =>
      buildBundle({ gateway, anchors, activeId, version: 'v1', existing, now: this.now }),
    );
    const owner = existing && bundleOwner(existing);
    const ownerState = owner
      ? ownerStateOf(owner, gateway.trustBundle.objectName, {
          isWatched: () => true,
          find: (place) => this.gateway(place.name as Name)?.trustBundle,
        })
      : 'gone';
    return decideBundle({ gateway, intent, existing, ownerState, now: this.now });
  }

  reconcile(name: Name): void {
    const gateway = this.gateway(name);
    if (gateway === undefined) return;
    const decision = this.decide(gateway, name);
    this.#mayDo(decision, name);
    this.#carryOut(decision);
    const again = this.decide(gateway, name);
    // nothing has changed since: nothing is written
    expect(['none', 'wait', 'conflict']).toContain(again.kind);
    // nor does time alone write anything: it only withdraws
    this.now = plus(this.now, minutes(1));
    expect(this.decide(gateway, name).kind).not.toBe('apply');
    if (gateway.isDeleting) this.#gateways.delete(name);
    else this.#tellStatus(gateway, name);
    this.said.push(decision);
  }

  #mayDo(decision: BundleDecision, name: Name): void {
    if (decision.kind !== 'apply' && decision.kind !== 'remove') return;
    const before = this.kept.object;
    const owner = before && bundleOwner(before);
    const isAnothers = owner !== undefined && owner.name !== name && this.gateway(owner.name as Name) !== undefined;
    expect(isAnothers).toBe(false);
    if (decision.kind === 'remove') {
      const gateway = this.gateway(name);
      expect(gateway?.isDeleting === true || this.poolOf(name).judgement.reason === 'NotFound').toBe(true);
      return;
    }
    const written = readBundleText(bundleContent(decision.body).trustBundle).map(({ sha256 }) => sha256);
    const pool = this.poolOf(name).anchors.map(({ certificate }) => certificate.sha256);
    const stood = before ? readBundleText(bundleContent(before).trustBundle).map(({ sha256 }) => sha256) : [];
    expect(written.length).toBeGreaterThan(0);
    if (pool.length > 0) expect(written).toEqual(pool.toSorted());
    else expect(stood).toEqual(expect.arrayContaining(written));
  }

  #carryOut(decision: BundleDecision): void {
    if (decision.kind === 'apply') expect(this.kept.apply(decision.body)).toBe(true);
    if (decision.kind === 'remove') expect(this.kept.remove(decision)).toBe(true);
  }

  #tellStatus(gateway: BundleGateway, name: Name): void {
    const { judgement, activeId } = this.poolOf(name);
    const request = {
      judgements: { CAPoolReady: judgement },
      bundle: this.kept.object,
      activeId,
      servingTls: undefined,
    };
    const status = gatewayStatus({ gateway, ...request, now: this.now });
    this.said.push(status, conditionEvents(gateway.status.conditions, status.conditions));
    this.#change(name, { status });
    // a second look, later, has nothing to write
    const later: EgressGatewayStatus = gatewayStatus({
      gateway: { ...gateway, status },
      ...request,
      now: plus(this.now, minutes(1)),
    });
    expect(equalStatus(status, later)).toBe(true);
  }
}

test('one bundle for two gateways keeps one owner, is never empty, and is written only for a change', () => {
  fc.assert(
    fc.property(fc.array(event, { minLength: 15, maxLength: 50, size: 'max' }), (events) => {
      const world = new World();
      for (const what of events) world.happen(what);
      const alive = names.filter((name) => world.gateway(name)?.isDeleting === false);
      for (const [index, of] of names.entries()) world.happen({ kind: 'pool', of, pool: index });
      // with good pools it settles: two rounds later nobody writes, and what stands there is what its owner's pool has
      for (const name of [...names, ...names]) world.reconcile(name);
      const writes = world.kept.writes;
      for (const name of names) world.reconcile(name);
      expect(world.kept.writes).toBe(writes);
      const owner = world.kept.object && (bundleOwner(world.kept.object)?.name as Name);
      if (alive.length > 0) {
        expect(alive).toContain(owner);
        const anchors = world.poolOf(owner!).anchors.map(({ certificate }) => certificate);
        expect(bundleContent(world.kept.object!).trustBundle).toBe(bundleText(anchors));
        for (const name of alive.filter((other) => other !== owner)) {
          expect(world.decide(world.gateway(name)!, name).kind).toBe('conflict');
        }
      }
      expect(findKeyTraces(world.said, keys)).toEqual([]);
      expect(
        findKeyTraces(
          judged.map(({ judgement }) => judgement),
          keys,
        ),
      ).toEqual([]);
    }),
    { numRuns: 150 },
  );
});
