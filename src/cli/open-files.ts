// How many connections the limit of open files allows: beyond it Envoy was seen to hang and to crash. Linux only; where the
// limit cannot be read nothing is changed.
import { readFileSync } from 'node:fs';
import { cliErrors } from './cli-errors.ts';

/** a tunnel has the client's socket and the origin's (measured); with 1,024 files new clients hung from 495 tunnels on */
const filesPerConnection = 2;
/** listeners, admin, SDS, logs, event loops, and what the process opens for itself */
const ownFiles = 200;
export const fewestConnections = 16;

/** The limit that a child of this process gets; undefined where the system does not say. */
export function openFilesLimit(limits: () => string = readLimits): number | undefined {
  const soft = /^Max open files\s+(\d+)/m.exec(limits())?.[1];
  return soft === undefined ? undefined : Number(soft);
}

export function connectionsPossible(limit: number): number {
  return Math.max(0, Math.floor((limit - ownFiles) / filesPerConnection));
}

/** the limit with which so many connections are possible */
export function filesNeeded(connections: number): number {
  return ownFiles + connections * filesPerConnection;
}

/** At most `asked`. @throws open-files-too-few */
export function connectionsWithin(limit: number | undefined, asked: number): number {
  if (limit === undefined) return asked;
  const possible = connectionsPossible(limit);
  if (possible < fewestConnections) {
    const needed = filesNeeded(fewestConnections);
    throw cliErrors.error('open-files-too-few', { limit, needed });
  }
  return Math.min(asked, possible);
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'latin1');
  } catch {
    return '';
  }
}
