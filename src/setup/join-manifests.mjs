// deploy/install.yaml: the resources of the bases as they stand, comments and all, in the order of their kustomizations. The
// bases have nothing that kustomize would change, so that this text is what it makes of them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export const installFile = 'deploy/install.yaml';

const bases = ['deploy/controller', 'deploy/bounds'];

const head = `# The controller of leafgate and its bounds for the gateway of the example (deploy/gateway), with the names that the example has.
# Made of ${bases.join(' and ')} by \`npm run manifests\`; edit those.
`;

/** `root` is the checkout */
export function joinManifests(root) {
  const files = bases.flatMap((base) => resourceFiles(root, base));
  return [head, ...files.map((file) => `# from ${file}\n${readFileSync(join(root, file), 'utf8')}`)].join('---\n');
}

function resourceFiles(root, base) {
  const { resources, ...others } = parse(readFileSync(join(root, base, 'kustomization.yaml'), 'utf8'));
  const unknown = Object.keys(others).filter((key) => key !== 'apiVersion' && key !== 'kind');
  if (unknown.length > 0) throw new Error(`${base}/kustomization.yaml: ${unknown.join(', ')} cannot be joined as text`);
  return resources.map((name) => `${base}/${name}`);
}
