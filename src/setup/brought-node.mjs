// The Node 24 that the sources and their tools run on: the one from node_modules, else our own when it is new enough.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const oldestNode = 24;
/** what npm and these scripts themselves need */
export const oldestStarterNode = 20;

/** path of a fitting Node, or undefined */
export function findFittingNode(root, own = { version: process.versions.node, path: process.execPath }) {
  const brought = join(root, 'node_modules', '.bin', 'node');
  if (existsSync(brought)) return brought;
  return majorOf(own.version) >= oldestNode ? own.path : undefined;
}

export function majorOf(version) {
  return Number.parseInt(version, 10);
}
