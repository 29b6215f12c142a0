// Builds a real control plane from Go modules: about ten minutes of one core and 2.4 GiB on a machine that has none of it,
// nothing afterwards. It takes what others leave of the processor, and whoever comes second waits for the first.
import { accessSync, constants } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { builtFolder, clusterPrograms, givenProgram, kubernetesVersion, sources } from './cluster-tools.mjs';
import { findGo, goEnvironment } from './find-go.mjs';
import { waitForTurn } from './one-at-a-time.mjs';
import { run } from './run-tool.mjs';

/** as Kubernetes' own build sets them: without, the server says it is v0.0.0-master */
const versionPackage = 'k8s.io/component-base/version';
const [, major, minor] = /^v(\d+)\.(\d+)\./.exec(kubernetesVersion);
const kubernetesFlags = Object.entries({
  gitVersion: kubernetesVersion,
  gitMajor: major,
  gitMinor: minor,
  gitTreeState: 'clean',
}).map(([name, value]) => `-X ${versionPackage}.${name}=${value}`);

const builds = {
  'kube-apiserver': { module: 'kube', from: 'k8s.io/kubernetes/cmd/kube-apiserver', flags: kubernetesFlags },
  etcd: { module: 'etcd', from: 'go.etcd.io/etcd/server/v3', flags: [] },
  'ctb-oracle': { module: 'kube', from: './ctb-oracle', flags: kubernetesFlags },
  kubectl: { module: 'kube', from: 'k8s.io/kubernetes/cmd/kubectl', flags: kubernetesFlags },
};

export async function installClusterTools(say) {
  const folder = builtFolder();
  const missing = () =>
    clusterPrograms.filter((name) => givenProgram(name) === undefined && !isThere(join(folder, name)));
  if (missing().length === 0) return 'already there';
  const release = await waitForTurn(folder, () => say('another process builds it; waiting for that one'));
  try {
    if (missing().length === 0) return 'installed';
    const go = await findGo();
    await mkdir(folder, { recursive: true });
    for (const name of missing()) {
      say(`building ${name}`);
      await build(go, name, folder);
    }
    return 'installed';
  } finally {
    release();
  }
}

async function build(go, name, folder) {
  const { module, from, flags } = builds[name];
  const fresh = join(folder, `${name}.new`);
  const args = ['build', '-trimpath', '-ldflags', ['-s', '-w', ...flags].join(' '), '-o', fresh, from];
  await run(go, args, { cwd: join(sources, module), env: goEnvironment, isAside: true });
  // nobody ever sees half of it
  await rename(fresh, join(folder, name));
}

function isThere(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
