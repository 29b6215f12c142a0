// Secrets and ConfigMaps as the controller is told of them, for tests of what it makes of them.
import type { ConfigMapContent, Observed, SecretContent } from '../../src/controller/controller-types.ts';
import { SecretBytes } from '../../src/secret-bytes.ts';

export const testNamespace = 'egress';

export function foundSecret(
  name: string,
  data: { readonly [key: string]: string | Uint8Array },
  type = 'kubernetes.io/tls',
): Observed<SecretContent> {
  const entries = Object.entries(data).map(([key, value]) => [key, new SecretBytes(Buffer.from(value))] as const);
  return { kind: 'found', value: { namespace: testNamespace, name, type, data: Object.fromEntries(entries) } };
}

export function foundConfigMap(name: string, data: { readonly [key: string]: string }): Observed<ConfigMapContent> {
  return { kind: 'found', value: { namespace: testNamespace, name, data } };
}

export const absent = { kind: 'absent' } as const;

export function unavailable(detail = 'the server is shutting down') {
  return { kind: 'unavailable', detail } as const;
}
