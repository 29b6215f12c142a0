// Shipped YAML put to a real API server as `kubectl apply --server-side` would, unknown fields refused.
import type { Manifest } from '../manifest-types.ts';
import { waitFor } from '../wait-for.ts';
import { mustSucceed, type ApiObject, type RawApi } from './raw-api.ts';

/** kinds whose plural is more than an `s`, and those without a namespace */
const plurals: Readonly<Record<string, string>> = {
  NetworkPolicy: 'networkpolicies',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
};
const clusterWide = /^(Namespace|Cluster.*|CustomResourceDefinition|Validating.*)$/;

export function apiPath({ apiVersion, kind, metadata: { namespace, name } }: Manifest): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = plurals[kind] ?? `${kind.toLowerCase()}s`;
  if (!clusterWide.test(kind) && namespace === undefined) throw new Error(`${kind} ${name} names no namespace`);
  const within = namespace === undefined ? '' : `/namespaces/${namespace}`;
  return `${root}${within}/${plural}/${encodeURIComponent(name)}`;
}

/** @throws what the API server says of it, warnings too */
export async function applyManifest(api: RawApi, manifest: Manifest): Promise<ApiObject> {
  const answer = await api.apply(apiPath(manifest), manifest, { query: 'fieldValidation=Strict' });
  const { warning } = answer.headers;
  if (warning !== undefined) throw new Error(`${manifest.kind} ${manifest.metadata.name}: ${warning}`);
  return mustSucceed(answer);
}

/** A kind whose definition has just been applied is served a moment later. */
export async function waitUntilServed(api: RawApi, manifest: Manifest): Promise<void> {
  const collection = apiPath(manifest).replace(/\/[^/]+$/, '');
  await waitFor(`${manifest.kind} to be served`, async () => (await api.get(collection)).status === 200);
}
