// Trust files for commands whose owner trusts more than the gateway: a folder for each set of what he has, so that nobody
// gets what is another's and the same set always has the same paths. The gateway writes them anew when its own CAs change.
// Must not know where the set comes from.
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { LeafgateError } from '../errors.ts';
import { makeFolder } from '../make-folder.ts';
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
function ownTrustRoot(trustDir: string): string {
  return join(dirname(trustDir), 'trust-with');
}

export type GatewayTrust = {
  readonly trustDir: string;
  readonly anchors: readonly Certificate[];
  readonly systemRoots: readonly Certificate[];
};

const partsName = 'own.json';
/** a few bundles of roots */
const maxPartsBytes = 64 * 1024 * 1024;

const partsSchema = z.object({
  anchors: z.string(),
  merged: z.string(),
  wgetrc: z.string(),
  aptConf: z.string().optional(),
});
type Parts = z.infer<typeof partsSchema>;

/** Writes what the owner has before the files, so that a gateway that looks through the folders from now on sees it. */
export async function writeOwnTrust(own: OwnTrust, gateway: GatewayTrust): Promise<TrustFiles> {
  const { wgetrc, aptConf } = own;
  const parts: Parts = {
    ...{ anchors: bundleText(own.anchors), merged: bundleText(own.merged), wgetrc },
    ...(aptConf === undefined ? {} : { aptConf }),
  };
  const text = JSON.stringify(parts);
  // 64 bits: nobody gains by two sets that share a folder, which is the user's own
  const dir = join(ownTrustRoot(gateway.trustDir), createHash('sha256').update(text).digest('hex').slice(0, 16));
  try {
    makeFolder(dir, 0o700);
    await replaceFile(join(dir, partsName), text, 0o600);
  } catch (thrown) {
    throw projectionErrors.error('trust-files-not-written', { dir, detail: systemReason(thrown) }, thrown);
  }
  return writeWithParts(dir, parts, gateway);
}

/**
 * Writes all of them anew for the gateway's CAs of now; a folder that cannot be read is left alone. Gives what went wrong, and
 * never rejects: a folder of a command of before stops neither another nor the gateway.
 */
export async function refreshOwnTrust(gateway: GatewayTrust): Promise<readonly LeafgateError[]> {
  const root = ownTrustRoot(gateway.trustDir);
  const failures: LeafgateError[] = [];
  for (const name of await readdir(root).catch(() => [])) {
    const parts = await readParts(join(root, name));
    if (parts === undefined) continue;
    await writeWithParts(join(root, name), parts, gateway).catch((thrown: unknown) => {
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
  return (await readParts(dir))?.aptConf ?? '';
}

async function readParts(dir: string): Promise<Parts | undefined> {
  const content = await readRegularFile(join(dir, partsName), maxPartsBytes);
  if (content.kind !== 'bytes') return undefined;
  try {
    return partsSchema.safeParse(JSON.parse(Buffer.from(content.bytes).toString('utf8'))).data;
  } catch {
    return undefined;
  }
}

function writeWithParts(dir: string, parts: Parts, { anchors, systemRoots }: GatewayTrust): Promise<TrustFiles> {
  const { wgetrc, aptConf } = parts;
  return writeTrustFiles({
    dir,
    anchors: [...anchors, ...parseRoots(parts.anchors).certificates],
    systemRoots: [...systemRoots, ...parseRoots(parts.merged).certificates],
    settings: { wgetrc, ...(aptConf === undefined ? {} : { aptConf }) },
  });
}
