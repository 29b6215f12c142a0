// Everything that the controller writes, one function a concern, each under a field manager of its own. Nothing is written
// once `mayWrite` says no; who calls has compared before. Must not know why something is written.
import { isDeepStrictEqual } from 'node:util';
import { LeafgateError } from '../errors.ts';
import { isRecord } from '../is-record.ts';
import type { KubeClient, KubeObject, KubeResource, ObjectPlace, Preconditions } from '../kube/kube-types.ts';
import { groupVersionOf } from '../kube/object-path.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { EgressGatewayIdentity, EgressGatewayStatus } from '../settings/egress-gateway-types.ts';
import { controllerErrors } from './controller-errors.ts';
import { mountsConfigMap } from './deployment-claim.ts';
import { fieldManagers } from './field-managers.ts';
import { filesLabels, filesManager } from './files-claim.ts';
import { finalizerPatch } from './finalizer-patch.ts';
import { roomPatch } from './room-for-conditions.ts';
import { configMaps, deployments, egressGateways } from './watched-kinds.ts';

export type WriteParts = {
  readonly client: KubeClient;
  readonly metrics: Metrics;
  /** false from the moment on at which another controller may lead */
  readonly mayWrite: () => boolean;
};

type FilesContent = {
  readonly name: string;
  readonly data: Readonly<Record<string, string>>;
  readonly owner: EgressGatewayIdentity;
};

/** stands on the pod template of a Deployment: another value makes new pods */
const rolloutAnnotation = 'leafgate.dev/constant-files';

export interface ClusterWrites {
  applyBundle(resource: KubeResource, body: KubeObject): Promise<KubeObject>;
  /** only the very object that was judged; one that was replaced or changed meanwhile is a conflict */
  removeBundle(place: ObjectPlace, judged: Required<Preconditions>): Promise<void>;
  /** `standing`: the object as it was read last; of more conditions than fit, the last of others go */
  applyStatus(gateway: EgressGatewayIdentity, status: EgressGatewayStatus, standing: KubeObject): Promise<void>;
  /** true when there was something to write */
  applyFiles(files: FilesContent, existing: KubeObject | undefined): Promise<boolean>;
  rollOut(place: { readonly namespace: string; readonly name: string }, files: RolledFiles): Promise<Rollout>;
  setFinalizer(gateway: KubeObject, isKept: boolean): Promise<void>;
}

/** `digest`: of what a pod reads only at its start */
type RolledFiles = { readonly configMapName: string; readonly digest: string };

/** a Deployment that is missing has nothing to be told; one that does not mount the files is left alone */
type Rollout = 'rolled' | 'unchanged' | 'absent' | 'without-files';

/** whoever leads by now does the work: nothing is to be said about it */
export function isNotLeading(thrown: unknown): boolean {
  return LeafgateError.from(thrown).code === 'controller-not-leading';
}

type What = 'bundle' | 'status' | 'files' | 'rollout' | 'finalizer';

export function createClusterWrites(parts: WriteParts): ClusterWrites {
  return new CountedWrites(parts);
}

class CountedWrites implements ClusterWrites {
  readonly #parts: WriteParts;

  constructor(parts: WriteParts) {
    this.#parts = parts;
  }

  applyBundle(resource: KubeResource, body: KubeObject): Promise<KubeObject> {
    const place = { resource, name: body.metadata.name };
    return this.#write('bundle', (client) =>
      client.apply(place, body, { fieldManager: fieldManagers.bundle, force: true }),
    );
  }

  async removeBundle(place: ObjectPlace, judged: Required<Preconditions>): Promise<void> {
    await this.#write('bundle', (client) => client.remove(place, judged));
  }

  async applyStatus(gateway: EgressGatewayIdentity, status: EgressGatewayStatus, standing: KubeObject): Promise<void> {
    const { namespace, name } = gateway;
    const place = { resource: egressGateways, namespace, name };
    const terms = { fieldManager: fieldManagers.status, subresource: 'status' } as const;
    const room = roomPatch(standing, status);
    // server-side apply cannot take away what is another's
    if (room !== undefined) await this.#write('status', (client) => client.mergePatch(place, room, terms));
    await this.#write('status', (client) =>
      client.apply(place, statusBody(gateway, status), { ...terms, force: true }),
    );
  }

  async applyFiles(files: FilesContent, existing: KubeObject | undefined): Promise<boolean> {
    const body = filesBody(files);
    if (existing !== undefined && holds(existing, body)) return false;
    const place = { resource: configMaps, namespace: files.owner.namespace, name: files.name };
    const terms = { fieldManager: fieldManagers.files } as const;
    const applied = await this.#write('files', (client) => client.apply(place, body, { ...terms, force: true }));
    const strange = Object.keys(dataOf(applied)).filter((key) => !Object.hasOwn(files.data, key));
    if (strange.length === 0) return true;
    // server-side apply leaves what others have put beside ours: without this there would be something to write for ever
    const data = Object.fromEntries(strange.map((key) => [key, null]));
    await this.#write('files', (client) => client.mergePatch(place, { data }, terms));
    return true;
  }

  async rollOut(
    place: { readonly namespace: string; readonly name: string },
    { configMapName, digest }: RolledFiles,
  ): Promise<Rollout> {
    const at = { resource: deployments, ...place };
    const deployment = await this.#parts.client.get(at);
    if (deployment === undefined) return 'absent';
    if (!mountsConfigMap(deployment, configMapName)) return 'without-files';
    if (rolledOut(deployment) === digest) return 'unchanged';
    const patch = { spec: { template: { metadata: { annotations: { [rolloutAnnotation]: digest } } } } };
    await this.#write('rollout', (client) => client.mergePatch(at, patch, { fieldManager: fieldManagers.rollout }));
    return 'rolled';
  }

  async setFinalizer(gateway: KubeObject, isKept: boolean): Promise<void> {
    const patch = finalizerPatch(gateway, isKept);
    if (patch === undefined) return;
    const { name, namespace = '' } = gateway.metadata;
    const place = { resource: egressGateways, namespace, name };
    const terms = { fieldManager: fieldManagers.finalizer };
    await this.#write('finalizer', (client) => client.mergePatch(place, patch, terms));
  }

  async #write<Value>(what: What, send: (client: KubeClient) => Promise<Value>): Promise<Value> {
    const { client, metrics, mayWrite } = this.#parts;
    if (!mayWrite()) throw controllerErrors.error('controller-not-leading');
    try {
      const value = await send(client);
      metrics.count('leafgate_controller_writes_total', { what, ok: 'yes' });
      return value;
    } catch (thrown) {
      metrics.count('leafgate_controller_writes_total', { what, ok: 'no' });
      throw thrown;
    }
  }
}

/** with the UID, so that a gateway that is gone is not made anew */
function statusBody({ namespace, name, uid }: EgressGatewayIdentity, status: EgressGatewayStatus): KubeObject {
  return {
    apiVersion: groupVersionOf(egressGateways),
    kind: egressGateways.kind,
    metadata: { namespace, name, uid },
    status,
  };
}

function filesBody({ name, data, owner }: FilesContent): KubeObject {
  const labels = { [filesLabels.managedBy]: filesManager, [filesLabels.gateway]: owner.name };
  // it goes with its gateway: what is rendered for one is of no use without it
  const ownerReferences = [
    { apiVersion: groupVersionOf(egressGateways), kind: egressGateways.kind, name: owner.name, uid: owner.uid },
  ];
  const metadata = { name, namespace: owner.namespace, labels, ownerReferences };
  return { apiVersion: groupVersionOf(configMaps), kind: configMaps.kind, metadata, data };
}

/** nothing would change: our labels and owner are there, and the data is ours to the last key */
function holds(existing: KubeObject, body: KubeObject): boolean {
  const { labels = {} } = existing.metadata;
  const hasLabels = Object.entries(body.metadata.labels ?? {}).every(([key, value]) => labels[key] === value);
  return hasLabels && isDeepStrictEqual(existing['data'], body['data']) && hasOwner(existing, body);
}

function dataOf(configMap: KubeObject): object {
  const { data } = configMap;
  return isRecord(data) ? data : {};
}

function hasOwner(existing: KubeObject, body: KubeObject): boolean {
  const [owners, wanted] = [existing, body].map(ownersOf);
  return (wanted ?? []).every((uid) => owners?.includes(uid));
}

function ownersOf({ metadata }: KubeObject): readonly unknown[] {
  const owners = memberOf(metadata, 'ownerReferences');
  return Array.isArray(owners) ? owners.map((owner) => memberOf(owner, 'uid')) : [];
}

function rolledOut(deployment: KubeObject): unknown {
  return ['spec', 'template', 'metadata', 'annotations', rolloutAnnotation].reduce<unknown>(memberOf, deployment);
}

function memberOf(value: unknown, key: string): unknown {
  return isRecord(value) ? value[key] : undefined;
}
