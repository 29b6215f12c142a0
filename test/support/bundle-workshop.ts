// Gateways and one ClusterTrustBundle as an API server keeps it, for tests of who owns a bundle and what is written to it.
import { minutes, type DurationMs } from '../../src/clock.ts';
import type { BundleGateway } from '../../src/controller/build-bundle.ts';
import type { KubeObject } from '../../src/kube/kube-types.ts';
import type { EgressGatewayStatus } from '../../src/settings/egress-gateway-types.ts';
import { testNamespace } from './observed-objects.ts';

const emptyStatus: EgressGatewayStatus = { conditions: [] };

export type GatewayRequest = {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly isDeleting?: boolean;
  readonly deletionPolicy?: 'Delete' | 'Retain';
  readonly retainForMs?: DurationMs;
  readonly labels?: Readonly<Record<string, string>>;
  readonly status?: EgressGatewayStatus;
};

export function bundleGateway(request: GatewayRequest = {}): BundleGateway {
  return {
    namespace: request.namespace ?? testNamespace,
    name: request.name ?? 'gateway',
    uid: request.uid ?? 'uid-1',
    generation: 1,
    isDeleting: request.isDeleting ?? false,
    finalizers: [],
    status: request.status ?? emptyStatus,
    trustBundle: {
      signerName: 'egress.example.com/mitm',
      name: 'pool',
      objectName: 'egress.example.com:mitm:pool',
      labels: request.labels ?? { 'example.com/team': 'a' },
      retainForMs: request.retainForMs ?? minutes(10),
      deletionPolicy: request.deletionPolicy ?? 'Delete',
    },
  };
}

type Keys = Readonly<Record<string, string>>;

/** Server-side apply with force by one field manager, and edits of everybody else, who take what they change. */
export class KeptBundle {
  #object: KubeObject | undefined;
  #version = 0;
  /** labels and annotations that our manager owns, as `labels/key` */
  #owned = new Set<string>();
  writes = 0;

  get object(): KubeObject | undefined {
    return this.#object;
  }

  /** false: the precondition does not hold */
  apply(body: KubeObject): boolean {
    const before = this.#object;
    const { resourceVersion } = body.metadata;
    if (resourceVersion !== undefined && resourceVersion !== before?.metadata.resourceVersion) return false;
    this.writes += 1;
    const merged = {
      ...before,
      ...body,
      metadata: {
        name: body.metadata.name,
        uid: before?.metadata.uid ?? `bundle-${this.#version}`,
        labels: this.#merge('labels', before?.metadata.labels, body.metadata.labels),
        annotations: this.#merge('annotations', before?.metadata.annotations, body.metadata.annotations),
      },
    };
    this.#keep(merged);
    return true;
  }

  remove(preconditions: { readonly uid: string; readonly resourceVersion: string }): boolean {
    const { uid, resourceVersion } = this.#object?.metadata ?? {};
    if (uid !== preconditions.uid || resourceVersion !== preconditions.resourceVersion) return false;
    this.writes += 1;
    this.#drop();
    return true;
  }

  /** somebody deletes it, whoever */
  #drop(): void {
    this.#object = undefined;
    this.#owned = new Set();
  }

  byHand(edit: (object: KubeObject) => KubeObject | undefined): void {
    const before = this.#object;
    if (before === undefined) return;
    const after = edit(before);
    if (after === undefined) {
      this.#drop();
      return;
    }
    for (const part of ['labels', 'annotations'] as const) {
      const [was = {}, is = {}] = [before.metadata[part], after.metadata[part]];
      for (const key of Object.keys({ ...was, ...is })) if (was[key] !== is[key]) this.#owned.delete(`${part}/${key}`);
    }
    this.#keep(after);
  }

  /** made by somebody else, who attests for the signer */
  plant(object: KubeObject): void {
    if (this.#object !== undefined) return;
    this.#keep({ ...object, metadata: { ...object.metadata, uid: `bundle-${this.#version}` } });
  }

  #merge(part: 'labels' | 'annotations', was: Keys = {}, shall: Keys = {}): Keys {
    const kept = Object.entries(was).filter(([key]) => !this.#owned.has(`${part}/${key}`));
    for (const key of Object.keys(was)) this.#owned.delete(`${part}/${key}`);
    for (const key of Object.keys(shall)) this.#owned.add(`${part}/${key}`);
    return Object.fromEntries([...kept, ...Object.entries(shall)]);
  }

  #keep(object: KubeObject): void {
    this.#version += 1;
    this.#object = { ...object, metadata: { ...object.metadata, resourceVersion: `${this.#version}` } };
  }
}
