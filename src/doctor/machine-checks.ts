// The machine: limits, disk, clock, roots, name servers, the address to listen on. Pure.
import { between, minutes, type EpochMs } from '../clock.ts';
import { foundOr, ok, skipped, type Check, type CheckResult } from './check-types.ts';
import type { DoctorFacts, ListenFacts, MachineFacts, SocketPathFacts, StateFacts } from './doctor-facts.ts';
import { machineProblems } from './local-problems.ts';
import type { Problem } from './problem-table.ts';

const { problem } = machineProblems;
const mib = 1024 * 1024;

/** the records take twice 64 MiB, trust files and pool next to nothing */
const lowDiskBytes = 256 * mib;
const fullDiskBytes = 16 * mib;

/** file systems of other machines may be some seconds ahead */
const clockTolerance = minutes(5);

export const machineChecks: readonly Check<DoctorFacts>[] = [
  { id: 'open-files', title: 'the limit of open files', examine: ({ machine }) => openFiles(machine) },
  { id: 'disk', title: 'space for records and trust files', examine: ({ machine }) => disk(machine) },
  { id: 'clock', title: 'the clock', examine: ({ state, now }) => clock(state, now) },
  { id: 'system-roots', title: 'the roots that origins are verified with', examine: ({ machine }) => roots(machine) },
  { id: 'name-servers', title: 'DNS', examine: ({ machine }) => nameServers(machine) },
  { id: 'listen', title: 'the addresses that clients connect to', examine: ({ listen }) => listening(listen) },
  { id: 'socket-path', title: 'the length of socket paths', examine: ({ socketPath }) => socketPaths(socketPath) },
];

function openFiles({ openFiles: files }: MachineFacts): CheckResult {
  const { limit, possibleConnections: possible, fewestConnections: fewest, wantedConnections: wanted } = files;
  if (limit === undefined) return skipped('the system does not say');
  if (possible < fewest) return foundOr([problem('open-files-too-few', { limit, possible, fewest })], '');
  if (possible < wanted) return foundOr([problem('open-files-limit-connections', { limit, possible, wanted })], '');
  return ok(`${limit} files carry ${wanted} connections`);
}

function disk({ disk: { folder, freeBytes } }: MachineFacts): CheckResult {
  if (freeBytes === undefined) return skipped('the system does not say');
  const fields = { folder, free: `${Math.floor(freeBytes / mib)} MiB` };
  if (freeBytes < fullDiskBytes) return foundOr([problem('disk-full', fields)], '');
  return foundOr(freeBytes < lowDiskBytes ? [problem('disk-low', fields)] : [], `${fields.free} are free`);
}

function clock({ folder, newestFileAt }: StateFacts, now: EpochMs): CheckResult {
  if (newestFileAt === undefined) return skipped('no file to compare it with');
  const ahead = between(now, newestFileAt);
  if (ahead <= clockTolerance) return ok('not before the files of the state folder');
  return foundOr([problem('clock-behind', { folder, ahead: `${Math.round(ahead / minutes(1))} minutes` })], '');
}

function roots({ systemRoots: { path, count } }: MachineFacts): CheckResult {
  return foundOr(path === undefined ? [problem('system-roots-missing')] : [], `${count} in ${path ?? ''}`);
}

function nameServers({ nameServers: { servers, silentBecause: reason } }: MachineFacts): CheckResult {
  if (servers.length === 0) return foundOr([problem('name-servers-none')], '');
  const named = servers.join(', ');
  return foundOr(reason === undefined ? [] : [problem('name-servers-silent', { servers: named, reason })], named);
}

function listening(all: readonly ListenFacts[]): CheckResult {
  const words = all.map(({ address, state }) => `${address} is ${state === 'ours' ? "the running gateway's" : 'free'}`);
  return foundOr(all.flatMap(listenProblems), words.join(', '));
}

function listenProblems({ flag, address, state, detail }: ListenFacts): readonly Problem[] {
  if (state === 'taken') return [problem('listen-taken', { address, flag })];
  return state === 'refused' ? [problem('listen-refused', { address, detail, flag })] : [];
}

/** sockets whose path is too long in the state folder stand in the temporary one */
function socketPaths({ bytes, fallbackBytes, most }: SocketPathFacts): CheckResult {
  if (bytes <= most) return ok(`${bytes} bytes of ${most}`);
  if (fallbackBytes <= most) return ok('too long for the state folder: sockets stand in the temporary folder');
  return foundOr([problem('socket-path-too-long', { bytes, fallbackBytes, most })], '');
}
