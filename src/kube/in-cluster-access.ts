// The access that Kubernetes gives a pod: two environment variables and three files of its service account. Must not
// know a kubeconfig.
import { join } from 'node:path';
import { readRegularFile } from '../read-regular-file.ts';
import { parseServerName, serverNameInAuthority } from '../transport/server-name.ts';
import { followAccess } from './followed-access.ts';
import type { AccessOptions } from './followed-access.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { kubeErrors } from './kube-errors.ts';

type Environment = { readonly [name: string]: string | undefined };

/** where the kubelet mounts them (Kubernetes documentation, "Accessing the API from a Pod") */
const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';
const maxNamespaceBytes = 253;

export function isInCluster(env: Environment): boolean {
  return (env['KUBERNETES_SERVICE_HOST'] ?? '') !== '' && (env['KUBERNETES_SERVICE_PORT'] ?? '') !== '';
}

/** Throws `kube-service-account` when the variables are no address; the files are read at the first call. */
export async function inClusterAccess(
  env: Environment,
  options: AccessOptions,
  folder = serviceAccountFolder,
): Promise<ClusterAccess> {
  const host = parseServerName(env['KUBERNETES_SERVICE_HOST'] ?? '');
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '';
  if (host === undefined || !/^\d{1,5}$/.test(port)) {
    const reason = 'KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are no address';
    throw kubeErrors.error('kube-service-account', { reason, folder });
  }
  return followAccess(
    {
      server: `https://${serverNameInAuthority(host)}:${port}`,
      namespace: await namespaceIn(join(folder, 'namespace')),
      authority: { kind: 'file', path: join(folder, 'ca.crt') },
      serverName: undefined,
      token: { kind: 'file', path: join(folder, 'token') },
      credential: undefined,
    },
    options,
  );
}

/** a token mounted by hand may come without it */
async function namespaceIn(path: string): Promise<string | undefined> {
  const content = await readRegularFile(path, maxNamespaceBytes);
  const text = content.kind === 'bytes' ? Buffer.from(content.bytes).toString('utf8').trim() : '';
  return text === '' ? undefined : text;
}
