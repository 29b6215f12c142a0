// Trust files for commands whose owner trusts more than the gateway: a folder for each set of what he has, so that nobody
// gets what is another's and the same set always has the same paths. The gateway writes them anew when its own CAs change.
// Must not know where the set comes from, nor when a folder goes.
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { LeafgateError } from '../errors.ts';
import { readRegularFile } from '../read-regular-file.ts';
import { replaceFile } from '../replace-file.ts';
import { systemReason } from '../system-error.ts';
import { bundleText } from '../x509/bundle-text.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { projectionErrors } from './projection-errors.ts';
import { parseRoots } from './system-roots.ts';
import { trustFilePaths, writeTrustFiles, type TrustFiles } from './trust-files.ts';

export type OwnTrust = {
  /** go with the gateway's anchors, for variables that add */
  readonly anchors: readonly Certificate[];
  /** go with anchors and system roots; `anchors` are among them */
  readonly merged: readonly Certificate[];
  /** lines for wget, which may hold passwords */
  readonly wgetrc: string;
  /** path of the owner's file for apt */
  readonly aptConf?: string;
};

export function isNothing({ anchors, merged, wgetrc, aptConf }: OwnTrust): boolean {
  return anchors.length === 0 && merged.length === 0 && wgetrc === '' && aptConf === undefined;
}

/** What is left of it where a gateway's files are trusted anyway. */
export function trustBeyond(own: OwnTrust, { anchors, systemRoots }: GatewayTrust): OwnTrust {
  return { ...own, anchors: without(own.anchors, anchors), merged: without(own.merged, [...anchors, ...systemRoots]) };
}

function without(all: readonly Certificate[], known: readonly Certificate[]): readonly Certificate[] {
  const hashes = new Set(known.map(({ sha256 }) => sha256));
  return all.filter(({ sha256 }) => !hashes.has(sha256));
}

/** beside the gateway's own trust folder */
export function ownTrustRoot(trustDir: string): string {
  return join(dirname(trustDir), 'trust-with');
}

export type GatewayTrust = {
  readonly trustDir: string;
  readonly anchors: readonly Certificate[];
  readonly systemRoots: readonly Certificate[];
};

/** in the folder of a set, what it is */
export const ownTrustFile = 'own.json';
/** a few bundles of roots */
const maxPartsBytes = 64 * 1024 * 1024;

const partsSchema = z.object({
  anchors: z.string(),
  merged: z.string(),
  wgetrc: z.string(),
  aptConf: z.string().optional(),
});

/** What the folder of a set is called: the same for the same set. 64 bits: nobody gains by two that share one. */
export function ownTrustName(own: OwnTrust): string {
  return createHash('sha256').update(partsText(own)).digest('hex').slice(0, 16);
}

function partsText({ anchors, merged, wgetrc, aptConf }: OwnTrust): string {
  const parts: z.infer<typeof partsSchema> = {
    ...{ anchors: bundleText(anchors), merged: bundleText(merged), wgetrc },
    ...(aptConf === undefined ? {} : { aptConf }),
  };
  return JSON.stringify(parts);
}

/** Writes what the owner has before the files, so that a gateway that looks through the folders from now on sees it. */
export async function writeOwnTrust(own: OwnTrust, dir: string, gateway: GatewayTrust): Promise<TrustFiles> {
  try {
    await replaceFile(join(dir, ownTrustFile), partsText(own), 0o600);
  } catch (thrown) {
    throw projectionErrors.error('trust-files-not-written', { dir, detail: systemReason(thrown) }, thrown);
  }
  return writeFiles(own, dir, gateway);
}

/**
 * Writes all of them anew for the gateway's CAs of now; a folder that cannot be read is left alone. Gives what went wrong, and
 * never rejects: a folder of a command of before stops neither another nor the gateway.
 */
export async function refreshOwnTrust(gateway: GatewayTrust): Promise<readonly LeafgateError[]> {
  const root = ownTrustRoot(gateway.trustDir);
  const failures: LeafgateError[] = [];
  for (const name of await readdir(root).catch(() => [])) {
    const own = await readOwn(join(root, name));
    if (own === undefined) continue;
    await writeFiles(own, join(root, name), gateway).catch((thrown: unknown) => {
      failures.push(LeafgateError.from(thrown));
    });
  }
  return failures;
}

/** The owner's file for apt in a folder that was written here; empty where it has none, undefined for any other path. */
export async function aptConfOfOwner(path: string, trustDir: string): Promise<string | undefined> {
  if (path === trustFilePaths(trustDir).aptConfFile) return '';
  const dir = dirname(path);
  if (dirname(dir) !== ownTrustRoot(trustDir)) return undefined;
  return (await readOwn(dir))?.aptConf ?? '';
}

async function readOwn(dir: string): Promise<OwnTrust | undefined> {
  const content = await readRegularFile(join(dir, ownTrustFile), maxPartsBytes);
  if (content.kind !== 'bytes') return undefined;
  try {
    const { anchors, merged, wgetrc, aptConf } = partsSchema.parse(
      JSON.parse(Buffer.from(content.bytes).toString('utf8')),
    );
    return {
      ...{ anchors: parseRoots(anchors).certificates, merged: parseRoots(merged).certificates, wgetrc },
      ...(aptConf === undefined ? {} : { aptConf }),
    };
  } catch {
    return undefined;
  }
}

function writeFiles(own: OwnTrust, dir: string, { anchors, systemRoots }: GatewayTrust): Promise<TrustFiles> {
  return writeTrustFiles({
    dir,
    anchors: [...anchors, ...own.anchors],
    systemRoots: [...systemRoots, ...own.merged],
    settings: own,
  });
}
