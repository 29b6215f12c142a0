// An API server's memory for one object, with its resourceVersion and conflicts, behind the calls of a client. A test
// may make its calls fail or hang.
import { kubeError, ownFailure } from '../../src/kube/kube-failure.ts';
import type { KubeFailureKind } from '../../src/kube/kube-failure.ts';
import type { KubeClient, KubeObject } from '../../src/kube/kube-types.ts';

export type ObjectStore = {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'replace'>;
  object(): KubeObject | undefined;
  /** as another writer does */
  put(object: KubeObject): void;
  /** as another deletes it */
  clear(): void;
  /** every call waits until the returned function is called */
  hold(): () => void;
  /** every call fails so until undefined is set */
  failWith(kind: KubeFailureKind | undefined): void;
  readonly writes: readonly KubeObject[];
};

export function createObjectStore(): ObjectStore {
  let stored: KubeObject | undefined;
  let version = 0;
  let failing: KubeFailureKind | undefined;
  let held: Promise<void> = Promise.resolve();
  const writes: KubeObject[] = [];
  const fail = (kind: KubeFailureKind): never => {
    throw kubeError('call', ownFailure(kind, `it is ${kind}`));
  };
  const store = (object: KubeObject): KubeObject => {
    version += 1;
    stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    return stored;
  };
  const open = async (): Promise<void> => {
    await held;
    if (failing !== undefined) fail(failing);
  };
  return {
    writes,
    object: () => stored,
    put: (object) => void store(object),
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    clear: () => {
      stored = undefined;
    },
    failWith: (kind) => {
      failing = kind;
    },
    client: {
      get: async () => {
        await open();
        return stored;
      },
      create: async (_, body) => {
        await open();
        if (stored !== undefined) return fail('already-exists');
        writes.push(body);
        return store(body);
      },
      replace: async (_, body) => {
        await open();
        if (stored?.metadata.resourceVersion !== body.metadata.resourceVersion) return fail('conflict');
        writes.push(body);
        return store(body);
      },
    },
  };
}
