// Troubles that a real API server can be brought into: flags for its start, and a push at its store.
import type { ControlPlane } from './control-plane.ts';
import type { RawApi } from './raw-api.ts';

/** of two requests at the same time one gets 429, as plain text, with `Retry-After: 1`; `system:masters` are never counted */
export const oneRequestAtATime: readonly string[] = [
  '--enable-priority-and-fairness=false',
  '--max-requests-inflight=1',
];

/** Takes the one place for about 3 s: the API server waits so long for a version that does not exist yet. */
export async function takeThePlace(api: RawApi, listPath: string): Promise<void> {
  const path = `${listPath}?resourceVersionMatch=NotOlderThan&resourceVersion=4000000000`;
  // somebody else may have it at this very moment
  while ((await api.get(path)).status === 429);
}

/**
 * Without the cache a watch or list of an old version fails as soon as etcd has forgotten it; with it, the API server
 * answers from memory. `resource` as in `secrets` or `clustertrustbundles.certificates.k8s.io`.
 */
export function withoutWatchCache(...resources: readonly string[]): readonly string[] {
  return [`--watch-cache-sizes=${resources.map((resource) => `${resource}#0`).join(',')}`];
}

/** Makes etcd forget all versions but the present one: what began before is 410 from now on. */
export async function forgetOldVersions(plane: ControlPlane): Promise<void> {
  const ask = async (path: string, body: object): Promise<{ readonly header?: { readonly revision?: string } }> => {
    const answer = await fetch(new URL(path, plane.etcdUrl), { method: 'POST', body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`etcd said ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as { readonly header?: { readonly revision?: string } };
  };
  // what came last is not forgotten, so that a watch from just before it would go on: something of ours comes after it
  const key = Buffer.from('leafgate-test').toString('base64');
  const { header } = await ask('/v3/kv/put', { key, value: key });
  await ask('/v3/kv/compaction', { revision: header?.revision, physical: true });
}
