// The life of one bundle on a real API server, beside the model of it that the other tests of its owner rest on: both must
// come to the same labels, annotations and text after each step, and refuse the same writes.
import { expect, test } from 'vitest';
import { minutes, plus, type EpochMs } from '../../src/clock.ts';
import { buildBundle, restateBundle, type BundleGateway } from '../../src/controller/build-bundle.ts';
import { bundleAnnotations } from '../../src/controller/bundle-record.ts';
import { bundleText } from '../../src/x509/bundle-text.ts';
import { decideBundle, type BundleIntent } from '../../src/controller/decide-bundle.ts';
import type { KubeObject } from '../../src/kube/kube-types.ts';
import { bundleGateway, KeptBundle } from '../support/bundle-workshop.ts';
import { makeCa, testNow } from '../support/ca-workshop.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { apiAs, mustSucceed, type RawApi } from '../support/cluster/raw-api.ts';

const anchors = ['one', 'two'].map((id) => ({ id, certificate: makeCa({ name: id }).certificate }));
const planted = makeCa({ name: 'planted' }).certificate;
const ours = bundleGateway({ labels: { team: 'a', tier: 'b' } });
const path = `/apis/certificates.k8s.io/v1/clustertrustbundles/${ours.trustBundle.objectName}`;

/** what both sides must agree on */
function seen(object: KubeObject | undefined): object | undefined {
  if (object === undefined) return undefined;
  const { labels = {}, annotations = {} } = object.metadata;
  return { labels, annotations, spec: object['spec'] };
}

/** One bundle twice: in the API server, and in the model. */
class Pair {
  readonly #api: RawApi;
  readonly model = new KeptBundle();

  constructor(api: RawApi) {
    this.#api = api;
  }

  /** as the API server has it; its resourceVersion is not the model's */
  async real(): Promise<KubeObject | undefined> {
    const answer = await this.#api.get(path);
    return answer.status === 404 ? undefined : (mustSucceed(answer) as KubeObject);
  }

  async byHand(edit: (object: KubeObject) => KubeObject): Promise<void> {
    const real = await this.real();
    mustSucceed(await this.#api.put(`${path}?fieldManager=somebody`, edit(real!)));
    this.model.byHand(edit);
    await this.agree();
  }

  /** Decides on each side by what stands there, and does what was decided. */
  async look(
    gateway: BundleGateway,
    wanted: 'publish' | 'keep' | 'pool-gone',
    now: EpochMs = testNow,
  ): Promise<string> {
    const decide = (existing: KubeObject | undefined) => {
      const build = () => buildBundle({ gateway, anchors, activeId: 'one', version: 'v1', existing, now });
      const intent: BundleIntent = wanted === 'publish' ? { kind: wanted, bundle: build() } : { kind: wanted };
      return decideBundle({ gateway, intent, existing, ownerState: 'gone', now });
    };
    const [real, model] = [decide(await this.real()), decide(this.model.object)];
    expect(real.kind).toBe(model.kind);
    if (real.kind === 'apply') mustSucceed(await this.apply(real.body));
    if (model.kind === 'apply') expect(this.model.apply(model.body)).toBe(true);
    if (real.kind === 'remove') {
      const { uid, resourceVersion } = real;
      mustSucceed(await this.#api.remove(path, { preconditions: { uid, resourceVersion } }));
    }
    if (model.kind === 'remove') expect(this.model.remove(model)).toBe(true);
    await this.agree();
    return real.kind;
  }

  apply(body: KubeObject) {
    return this.#api.apply(path, body, { fieldManager: 'leafgate-bundle', query: 'fieldValidation=Strict' });
  }

  async agree(): Promise<void> {
    expect(seen(await this.real())).toEqual(seen(this.model.object));
  }
}

const relabelled = (labels: Readonly<Record<string, string>>) => (object: KubeObject) => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...labels } },
});
const withText = (trustBundle: string) => (object: KubeObject) => ({
  ...object,
  spec: { signerName: ours.trustBundle.signerName, trustBundle },
});
const annotated = (annotations: Readonly<Record<string, string>>) => (object: KubeObject) => ({
  ...object,
  metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...annotations } },
});

describeWithControlPlane('the bundle of a gateway', {}, (plane) => {
  test('lives in the API server as in the model', async () => {
    const api = apiAs(plane(), plane().user('admin'));
    const pair = new Pair(api);
    const later = plus(testNow, minutes(3));

    expect(await pair.look(ours, 'publish')).toBe('apply');
    expect(await pair.look(ours, 'publish', later)).toBe('none');

    // others keep what is theirs, and what is ours comes back
    await pair.byHand(relabelled({ team: 'by-hand', others: 'kept' }));
    await pair.byHand(withText(`# by hand\n${bundleText([planted])}`));
    await pair.byHand(annotated({ [bundleAnnotations.gateway]: '', 'others.example/a': 'kept' }));
    expect(await pair.look(ours, 'publish', later)).toBe('apply');
    expect(await pair.look(ours, 'publish', later)).toBe('none');

    // a label that the spec drops goes; one that somebody else took over meanwhile stays theirs
    await pair.byHand(relabelled({ tier: 'by-hand' }));
    const bare = { ...ours, trustBundle: { ...ours.trustBundle, labels: {} } };
    expect(await pair.look(bare, 'publish', later)).toBe('apply');
    expect(await pair.look(bare, 'publish', later)).toBe('none');
    expect((await pair.real())?.metadata.labels).toEqual({ tier: 'by-hand', others: 'kept' });

    // without a pool: noted, kept, cleaned of what was added, and let go
    await pair.byHand(annotated({ [bundleAnnotations.poolGoneSince]: 'for ever' }));
    expect(await pair.look(ours, 'keep', later)).toBe('apply');
    await pair.byHand(withText(bundleText([...anchors.map(({ certificate }) => certificate), planted])));
    expect(await pair.look(ours, 'pool-gone', later)).toBe('apply');
    expect((await pair.real())?.['spec']).toMatchObject({
      trustBundle: bundleText(anchors.map(({ certificate }) => certificate)),
    });
    expect(await pair.look(ours, 'pool-gone', plus(later, minutes(9)))).toBe('wait');

    // the gateway is made again, and then another comes after it
    const again = bundleGateway({ uid: 'uid-2' });
    expect(await pair.look(again, 'publish', later)).toBe('apply');
    const heir = bundleGateway({ name: 'heir', uid: 'uid-3' });
    expect(await pair.look(heir, 'publish', later)).toBe('apply');
    expect(await pair.look(heir, 'pool-gone', later)).toBe('apply');
    expect(await pair.look(heir, 'pool-gone', plus(later, minutes(10)))).toBe('remove');
    expect(await pair.look(heir, 'pool-gone', plus(later, minutes(10)))).toBe('none');
    api.close();
  });

  test('is not written over, and not removed, when it has changed since it was seen', async () => {
    const api = apiAs(plane(), plane().user('admin'));
    const pair = new Pair(api);
    await pair.look(ours, 'publish');
    const old = (await pair.real())!;
    await pair.byHand(relabelled({ others: 'new' }));
    const { uid, resourceVersion } = old.metadata;
    const body = restateBundle(old, ours, '');
    const stale = { ...body, metadata: { ...body.metadata, resourceVersion: resourceVersion! } };
    expect((await pair.apply(stale)).status).toBe(409);
    expect((await api.remove(path, { preconditions: { uid, resourceVersion } })).status).toBe(409);
    expect((await pair.real())?.metadata.labels).toMatchObject({ others: 'new' });
    api.close();
  });
});
