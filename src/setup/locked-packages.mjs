// Installs what package-lock.json names, and tells whether that has been done. Plain JavaScript: it runs on the Node
// that the user has, before Node 24 is there.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** True when node_modules holds exactly the locked versions; what another platform needs may be missing. */
export function arePackagesInstalled(root) {
  const locked = readPackages(join(root, 'package-lock.json'));
  const installed = readPackages(join(root, 'node_modules', '.package-lock.json'));
  if (locked === undefined || installed === undefined) return false;
  return Object.entries(locked).every(([path, wanted]) => {
    if (path === '' || !path.startsWith('node_modules/')) return true;
    const found = installed[path];
    return found === undefined ? wanted.optional === true || wanted.link === true : found.version === wanted.version;
  });
}

/** Runs `npm ci`. Returns a sentence that says what failed, or undefined. */
export function installLockedPackages(root) {
  // the npm that runs us, where one does: PATH may have another or none
  const [command, ...first] =
    process.env.npm_execpath === undefined ? ['npm'] : [process.execPath, process.env.npm_execpath];
  const args = [...first, 'ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const { error, status } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (error !== undefined) return `npm could not be run (${error.message}): install npm 10 or newer`;
  if (status === 0) return undefined;
  return 'npm ci failed; its lines above say why: most often the network, a proxy, or `npm config get registry`';
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages;
  } catch {
    return undefined;
  }
}
