// What `kubectl kustomize` makes of a folder of deploy/, as objects. kustomize-model.ts knows less, and needs no program.
import { spawnSync } from 'node:child_process';
import type { Manifest } from './manifest-types.ts';
import { scrubbedEnvironment } from './scrubbed-environment.ts';
import { parseManifests } from './shipped-manifests.ts';

/** `home` is an empty folder. @throws what kubectl says */
export function kubectlKustomize(kubectl: string, folder: string, home: string): readonly Manifest[] {
  const { status, stdout, stderr } = spawnSync(kubectl, ['kustomize', folder], {
    ...{ encoding: 'utf8', timeout: 60_000 },
    env: scrubbedEnvironment(home),
  });
  if (status !== 0) throw new Error(`kubectl kustomize: ${stderr}`);
  return parseManifests(stdout);
}
