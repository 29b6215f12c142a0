// A Secret of the type kubernetes.io/tls as a test wants it, made by plain requests.
import { mustSucceed, type RawApi } from './raw-api.ts';

type Place = { readonly namespace: string; readonly name: string };

export async function createTlsSecret(
  admin: RawApi,
  { namespace, name }: Place,
  content: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  const data = Object.entries(content).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  const secret = {
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, type: 'kubernetes.io/tls' },
    data: Object.fromEntries(data) as object,
  };
  mustSucceed(await admin.post(`/api/v1/namespaces/${namespace}/secrets`, secret));
}
