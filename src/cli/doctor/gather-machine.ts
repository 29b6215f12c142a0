// Facts about the machine for doctor: limits, disk, roots, name servers.
import { readFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { Resolver } from 'node:dns/promises';
import { dirname } from 'node:path';
import type { MachineFacts } from '../../doctor/doctor-facts.ts';
import { readSystemRoots } from '../../projection/system-roots.ts';
import { systemCode, systemReason } from '../../system-error.ts';
import { connectionsPossible, fewestConnections, openFilesLimit } from '../open-files.ts';

export type MachineQuestions = {
  readonly folder: string;
  readonly wantedConnections: number;
  readonly limits?: () => string;
  readonly rootFiles?: readonly string[];
  readonly resolverFile?: string;
  /** `ADDRESS:PORT`; the system's own when absent */
  readonly nameServers?: readonly string[];
};

export async function gatherMachine(questions: MachineQuestions): Promise<MachineFacts> {
  const { folder, wantedConnections } = questions;
  const limit = openFilesLimit(questions.limits);
  const [roots, nameServers, freeBytes] = await Promise.all([
    readSystemRoots(questions.rootFiles),
    gatherNameServers(questions),
    freeBytesOf(folder),
  ]);
  return {
    openFiles: {
      ...{ limit, fewestConnections, wantedConnections },
      possibleConnections: limit === undefined ? wantedConnections : connectionsPossible(limit),
    },
    disk: { folder, freeBytes },
    systemRoots: { path: roots.path, count: roots.certificates.length },
    nameServers,
  };
}

/** of the folder, or of the nearest one above it that exists: what an ordinary user may still write */
async function freeBytesOf(folder: string): Promise<number | undefined> {
  for (let path = folder; ; path = dirname(path)) {
    try {
      const { bavail, bsize } = await statfs(path);
      return bavail * bsize;
    } catch (error) {
      if (systemCode(error) !== 'ENOENT' || path === dirname(path)) return undefined;
    }
  }
}

/** never exists (RFC 6761 6.4): whoever says so answers, and nobody learns what this machine is about to ask for */
const nameThatNeverExists = 'leafgate-doctor.invalid';
const answerMs = 2_000;

async function gatherNameServers(questions: MachineQuestions): Promise<MachineFacts['nameServers']> {
  const servers = questions.nameServers ?? namedServers(questions.resolverFile ?? '/etc/resolv.conf');
  if (servers.length === 0) return { servers, silentBecause: undefined };
  const resolver = new Resolver({ timeout: answerMs, tries: 1 });
  if (questions.nameServers !== undefined) resolver.setServers([...questions.nameServers]);
  const silentBecause = await resolver.resolve4(nameThatNeverExists).then(
    () => undefined,
    (error: unknown) => whySilent(error),
  );
  return { servers, silentBecause };
}

function whySilent(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  // "no such name" and "no such record" are answers
  if (code === 'ENOTFOUND' || code === 'ENODATA') return undefined;
  if (code === 'ETIMEOUT') return `no answer in ${answerMs / 1000} s`;
  if (code === 'ESERVFAIL' || code === 'EREFUSED') return 'it answers that it cannot help';
  return systemReason(error);
}

/** resolv.conf(5); empty where there is none */
function namedServers(file: string): readonly string[] {
  try {
    const lines = readFileSync(file, 'utf8').matchAll(/^\s*nameserver\s+(\S+)/gm);
    return [...lines].map(([, server = '']) => server);
  } catch {
    return [];
  }
}
