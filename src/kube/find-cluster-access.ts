// Which API server to speak to: the kubeconfig that was named, or KUBECONFIG, or the service account of this pod, or
// ~/.kube/config, in this order (as controller-runtime has it).
import { delimiter, dirname, join, resolve } from 'node:path';
import { readRegularFile } from '../read-regular-file.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { followAccess } from './followed-access.ts';
import type { AccessOptions } from './followed-access.ts';
import { inClusterAccess, isInCluster } from './in-cluster-access.ts';
import { kubeErrors } from './kube-errors.ts';
import type { KubeconfigText } from './parse-kubeconfig.ts';

export type AccessRequest = AccessOptions & {
  readonly env: { readonly [name: string]: string | undefined };
  /** --kubeconfig */
  readonly kubeconfigFile?: string;
  /** for tests; else where the kubelet mounts it */
  readonly serviceAccountFolder?: string;
};

const maxKubeconfigBytes = 4 * 1024 * 1024;

/** Throws `kube-access-missing`, `kubeconfig-…` and `kube-service-account`. */
export async function findClusterAccess(request: AccessRequest): Promise<ClusterAccess> {
  const { env, kubeconfigFile, serviceAccountFolder } = request;
  if (kubeconfigFile !== undefined) return fromFiles([await readNamed(kubeconfigFile)], request);
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  if (listed.length > 0) return fromFiles(await readListed(listed), request);
  if (isInCluster(env)) return inClusterAccess(env, request, serviceAccountFolder);
  const own = await readKubeconfig(join(env['HOME'] ?? '/', '.kube', 'config'));
  if (typeof own === 'string') throw kubeErrors.error('kube-access-missing');
  return fromFiles([own], request);
}

async function fromFiles(
  files: readonly [KubeconfigText, ...KubeconfigText[]],
  options: AccessOptions,
): Promise<ClusterAccess> {
  // in a pod there is none to read, and the reader of YAML takes 1 MB
  const { parseKubeconfig } = await import('./parse-kubeconfig.ts');
  return followAccess(parseKubeconfig(files), options);
}

/** kubectl passes over files of the list that are not there */
async function readListed(paths: readonly string[]): Promise<readonly [KubeconfigText, ...KubeconfigText[]]> {
  const read = await Promise.all(paths.map(readKubeconfig));
  const [first, ...more] = read.filter((file) => typeof file !== 'string');
  if (first !== undefined) return [first, ...more];
  const reason = read.find((file) => typeof file === 'string') ?? '';
  throw kubeErrors.error('kubeconfig-unreadable', { path: paths.join(delimiter), reason });
}

async function readNamed(path: string): Promise<KubeconfigText> {
  const file = await readKubeconfig(path);
  if (typeof file === 'string') throw kubeErrors.error('kubeconfig-unreadable', { path, reason: file });
  return file;
}

/** or why it cannot be read */
async function readKubeconfig(path: string): Promise<KubeconfigText | string> {
  const content = await readRegularFile(path, maxKubeconfigBytes);
  switch (content.kind) {
    case 'bytes':
      return { path, folder: dirname(resolve(path)), text: Buffer.from(content.bytes).toString('utf8') };
    case 'too-large':
      return `it has more than ${maxKubeconfigBytes} bytes`;
    case 'unreadable':
      return content.reason;
    default:
      return content satisfies never;
  }
}
