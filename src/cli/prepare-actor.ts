// The environment of a command beside a gateway of this machine: what its owner trusts already is folded into files of its
// own, and no variable names a file that is not there.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { printable } from '../errors.ts';
import { actorEnvironment, type ActorEnvironment } from '../projection/actor-environment.ts';
import { actorVariables, type ActorValue } from '../projection/actor-runtimes.ts';
import type { InheritedEnvironment } from '../projection/no-proxy.ts';
import { readOwnTrust } from '../projection/own-trust.ts';
import { projectionErrors } from '../projection/projection-errors.ts';
import { parseRoots } from '../projection/system-roots.ts';
import { trustFilePaths, type TrustFiles } from '../projection/trust-files.ts';
import {
  isNothing,
  ownTrustName,
  ownTrustRoot,
  trustBeyond,
  writeOwnTrust,
  type OwnTrust,
} from '../projection/write-own-trust.ts';
import { systemReason } from '../system-error.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import type { ClaimFolder } from './own-trust-folders.ts';

/** room for a path as long as one can be, and for what is said of it */
const maxWarningChars = 5000;

export type ActorRequest = {
  readonly proxyUrl: string;
  /** the gateway's */
  readonly trustDir: string;
  /** what the command would inherit */
  readonly own: InheritedEnvironment;
  readonly without: ReadonlySet<string>;
  /** the folder for a set of own certificates */
  readonly claim: ClaimFolder;
};

/** @throws trust-files-not-written */
export async function prepareActor(request: ActorRequest): Promise<ActorEnvironment> {
  const { proxyUrl, own, without } = request;
  const { files, left, warnings } = await fold(request);
  const p12File = existsSync(files.p12File) ? files.p12File : undefined;
  const trust = { proxyUrl, ...files, p12File };
  const built = actorEnvironment({ trust, own, without, left: new Set([...left, ...withoutFile(files)]) });
  // they repeat words of the environment, which may be anybody's
  const shown = [...warnings, ...built.warnings].map((warning) => printable(warning, maxWarningChars));
  return { variables: built.variables, warnings: shown };
}

type Folded = { readonly files: TrustFiles; readonly left: ReadonlySet<string>; readonly warnings: readonly string[] };

/** The gateway may get another CA while the files are written: they are right when its own are what they were before. */
async function fold({ trustDir, own, without, claim }: ActorRequest): Promise<Folded> {
  const shared = trustFilePaths(trustDir);
  const { trust, left, warnings } = await readOwnTrust({ own, without, trustDir });
  // reading the gateway's files costs 40 ms: most owners have nothing
  if (isNothing(trust)) return { files: shared, left, warnings };
  for (;;) {
    const anchors = await readCertificates(shared.caFile);
    const gateway = { trustDir, anchors, systemRoots: await readCertificates(shared.mergedFile) };
    const beyond = trustBeyond(trust, gateway);
    if (isNothing(beyond)) return { files: shared, left, warnings };
    const files = await writeOwnTrust(beyond, await claimFor(beyond, { trustDir, claim }), gateway);
    const after = await readCertificates(shared.caFile);
    if (after.every(({ sha256 }) => anchors.some((anchor) => anchor.sha256 === sha256)))
      return { files, left, warnings };
  }
}

type Place = Pick<ActorRequest, 'trustDir' | 'claim'>;

async function claimFor(own: OwnTrust, { trustDir, claim }: Place): Promise<string> {
  const name = ownTrustName(own);
  return await claim(name).catch((thrown: unknown) => {
    const fields = { dir: join(ownTrustRoot(trustDir), name), detail: systemReason(thrown) };
    throw projectionErrors.error('trust-files-not-written', fields, thrown);
  });
}

async function readCertificates(path: string): Promise<readonly Certificate[]> {
  return parseRoots(await readFile(path, 'latin1').catch(() => '')).certificates;
}

/** a gateway of an older leafgate writes fewer files; a client that is told of one that is missing may trust nothing */
function withoutFile(files: TrustFiles): readonly string[] {
  const paths: Partial<Record<ActorValue, string>> = {
    anchors: files.caFile,
    merged: files.mergedFile,
    wgetrc: files.wgetrcFile,
    'apt-conf': files.aptConfFile,
    'php-folder': files.phpFolder,
  };
  return actorVariables.flatMap(({ name, value }) => {
    const path = paths[value];
    return path === undefined || existsSync(path) ? [] : [name];
  });
}
