// What every script needs before the product can run: the locked packages and a Node that fits. Says what takes long,
// and in one line what is missing.
import { fileURLToPath } from 'node:url';
import { findFittingNode, majorOf, oldestNode, oldestStarterNode } from './brought-node.mjs';
import { arePackagesInstalled, installLockedPackages } from './locked-packages.mjs';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** exit code of the product for what the machine lacks */
const environmentExitCode = 3;

/** Returns the Node to run with; ends the process where there is none. */
export function prepare() {
  if (majorOf(process.versions.node) < oldestStarterNode) {
    stop(`this is Node ${process.versions.node}; install Node ${oldestStarterNode} or newer`);
  }
  if (!arePackagesInstalled(root)) {
    say('installing the locked packages, Node 24 among them, into node_modules (about a minute, once)');
    const failure = installLockedPackages(root);
    if (failure !== undefined) stop(failure);
  }
  const node = findFittingNode(root);
  if (node === undefined) {
    stop(
      `no Node ${oldestNode} comes with the packages for ${process.platform} ${process.arch}: install it and run this with it`,
    );
  }
  return node;
}

export function say(sentence) {
  process.stderr.write(`leafgate set-up: ${sentence}\n`);
}

function stop(sentence) {
  say(sentence);
  process.exit(environmentExitCode);
}
