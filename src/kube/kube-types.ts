// The words of the Kubernetes API that the rest of the product speaks, and the client as an interface, so that tests can
// stand in for it. Knows no leafgate concept.
import type { DurationMs } from '../clock.ts';

/** what kind of object, and where the API serves it */
export type KubeResource = {
  /** '' for the core group */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
};

export type ObjectPlace = { readonly resource: KubeResource; readonly namespace?: string; readonly name: string };

type ObjectMeta = {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  /** opaque: compare for equality only */
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
};

export type KubeObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
};

/** one with an absent namespace: all namespaces, or a cluster-scoped resource */
export type ObjectQuery = {
  readonly resource: KubeResource;
  readonly namespace?: string;
  /** as field selector metadata.name, which lets RBAC name the object */
  readonly name?: string;
  readonly labelSelector?: string;
};

export type ObjectList = { readonly items: readonly KubeObject[]; readonly resourceVersion: string };

export type WriteTerms = { readonly fieldManager?: string; readonly dryRun?: boolean };

export type ApplyTerms = {
  readonly fieldManager: string;
  /** takes fields over from other managers; never unless said */
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly subresource?: 'status';
};

export type PatchTerms = WriteTerms & { readonly subresource?: 'status' };

export type Preconditions = { readonly uid?: string; readonly resourceVersion?: string };

export type AccessQuestion = {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly subresource?: string;
};

export type AccessAnswer = { readonly allowed: boolean; readonly reason?: string };

export type WatchEvent =
  | { readonly kind: 'put'; readonly object: KubeObject }
  | { readonly kind: 'gone'; readonly object: KubeObject }
  | { readonly kind: 'bookmark'; readonly resourceVersion: string };

export type WatchTerms = {
  readonly resourceVersion: string;
  /** asked of the server, after which it ends the stream */
  readonly timeoutSeconds: number;
  /** longest that the stream may be silent before it counts as dead */
  readonly silenceMs: DurationMs;
  /** the server has begun to stream */
  readonly onOpen?: () => void;
  readonly onEvent: (event: WatchEvent) => void;
  readonly signal: AbortSignal;
};

/** Every call rejects with a LeafgateError that `kubeFailureOf` reads. */
export interface KubeClient {
  /** undefined: there is no such object. A resource that is not served rejects with `not-found`. */
  get(place: ObjectPlace): Promise<KubeObject | undefined>;
  /** all pages */
  list(query: ObjectQuery): Promise<ObjectList>;
  create(place: ObjectPlace, body: KubeObject, terms?: WriteTerms): Promise<KubeObject>;
  /** server-side apply; creates what is not there */
  apply(place: ObjectPlace, body: KubeObject, terms: ApplyTerms): Promise<KubeObject>;
  mergePatch(place: ObjectPlace, patch: object, terms?: PatchTerms): Promise<KubeObject>;
  /** the body carries the resourceVersion that it replaces */
  replace(place: ObjectPlace, body: KubeObject): Promise<KubeObject>;
  remove(place: ObjectPlace, preconditions?: Preconditions): Promise<'removed' | 'absent'>;
  mayI(question: AccessQuestion): Promise<AccessAnswer>;
  /** plurals, subresources left out; undefined: the group version is not served. `v1` for the core group. */
  resourcesOf(groupVersion: string): Promise<readonly string[] | undefined>;
  /** Resolves when the server ends the stream as asked; rejects for everything else, also for an error within it. */
  watch(query: ObjectQuery, terms: WatchTerms): Promise<void>;
  /** ends every connection; calls in flight reject */
  close(): Promise<void>;
}
