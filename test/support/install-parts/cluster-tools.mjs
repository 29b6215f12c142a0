// Where the programs of a real control plane are (the API server, etcd, kubectl, the oracle for bundles), for whoever makes
// them and whoever starts them. Looks only. A folder is named by a digest of all that the programs are made of, the Go
// version left out: ten minutes of building for another compiler would prove nothing.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const sources = fileURLToPath(new URL('../go-cluster', import.meta.url));

/** raise it when the way of building changes and the sources do not */
const recipe = 1;

export const kubernetesVersion = 'v1.37.2';

/** in the order in which they are built: the API server takes ten times as long as all others together */
export const clusterPrograms = ['kube-apiserver', 'etcd', 'ctb-oracle', 'kubectl'];

/** as envtest of controller-runtime finds them, so that a contributor's own set serves here too */
const assetVariables = {
  'kube-apiserver': 'TEST_ASSET_KUBE_APISERVER',
  etcd: 'TEST_ASSET_ETCD',
  kubectl: 'TEST_ASSET_KUBECTL',
};

/** what the environment names for a program, whether it is there or not */
export function givenProgram(name, env = process.env) {
  const variable = assetVariables[name];
  if (variable === undefined) return undefined;
  if (env[variable]) return env[variable];
  return env.KUBEBUILDER_ASSETS ? join(env.KUBEBUILDER_ASSETS, name) : undefined;
}

export function builtProgram(name) {
  return join(builtFolder(), name);
}

export function builtFolder() {
  const hash = createHash('sha256').update(`${recipe} ${process.platform} ${process.arch}`);
  for (const name of readdirSync(sources, { recursive: true }).sort()) {
    if (/\.(?:go|mod|sum)$/.test(name)) hash.update(name).update(readFileSync(join(sources, name)));
  }
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  return join(cache, 'leafgate', 'test-tools', 'cluster', hash.digest('hex').slice(0, 16));
}
