// A database of NSS, which Chromium and Firefox read, that trusts the certificates of a bundle. A new one is made beside
// its place and renamed; one that is there is changed in place by NSS's own tool under NSS's own locks: a running Firefox
// takes the change at once, Chromium when it is started again (measured), and no file is swapped under a program that
// writes to it. Must not know bundles or actors.
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, mkdir, open, realpath, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { enter, giveTo, lookUp, syncFolder, unsafe, type Folder, type Owner } from './held-folder.ts';
import { inputPath, runCertutil, toolFailed, type ToolResult } from './nss-tool.ts';
import { newDraftName, type WriteStep } from './place-file.ts';
import { removeDraftFolder } from './remove-entries.ts';
import { volumeErrors } from './volume-errors.ts';

export type WantedDatabase = {
  /** of its folder */
  readonly name: string;
  readonly certificates: readonly Uint8Array[];
  /** whether what has that name was made here; a folder of somebody else is not touched */
  readonly isOurs: boolean;
  readonly certutil: string;
  /** whose it is to be, and who then runs the tool; undefined for the user of this process */
  readonly owner: Owner | undefined;
  readonly afterStep: (step: WriteStep) => void;
};

/**
 * Certificates are added before others are removed: in between, the database trusts both. What else somebody keeps in it
 * stays. Chromium takes a database only where it may write to it (measured), so that it has to be the browser's user's:
 * with an owner, the tool runs as that user, and what he puts in its way leads it nowhere that he could not go himself.
 * Without, it runs as we do; SQLite finds its files by their whole path, so that root is not let into a folder whose way
 * others could change. Rejects with `nss-…`, `volume-entry-unsafe`, or what the system says.
 */
export async function keepDatabase(above: Folder, request: WantedDatabase): Promise<'written' | 'unchanged'> {
  const wanted = request.owner?.uid === process.geteuid?.() ? { ...request, owner: undefined } : request;
  const found = await lookUp(above, wanted.name);
  if (found !== undefined && (!wanted.isOurs || !found.isDirectory()))
    throw unsafe(join(above.path, wanted.name), found);
  if (wanted.owner === undefined && process.geteuid?.() === 0) await refuseShared(above);
  if (found === undefined) return await build(above, wanted);
  return await entered(above, wanted.name, (database) => refresh(above, database, wanted));
}

const sticky = 0o1000;
const writableByOthers = 0o022;

/** whoever may rename a folder on the way may put another one in its place */
async function refuseShared({ path }: Folder): Promise<void> {
  for (let folder = await realpath(path); ; folder = dirname(folder)) {
    const { uid, mode } = await stat(folder);
    const isClosed = (mode & writableByOthers) === 0 || (mode & sticky) !== 0;
    if (uid !== 0 || !isClosed) throw volumeErrors.error('nss-folder-shared', { path, folder });
    if (folder === dirname(folder)) return;
  }
}

async function entered<T>(above: Folder, name: string, use: (folder: Folder) => Promise<T>): Promise<T> {
  const folder = await enter(above, name);
  if (folder === undefined) throw unsafe(join(above.path, name), undefined);
  try {
    return await use(folder);
  } finally {
    await folder.handle.close();
  }
}

/** a folder that nobody else writes into, gone afterwards unless it got another name */
async function inDraft<T>(above: Folder, use: (draft: Folder, name: string) => Promise<T>): Promise<T> {
  const name = newDraftName();
  await mkdir(above.at(name), { mode: 0o700 });
  try {
    return await entered(above, name, (draft) => use(draft, name));
  } finally {
    await removeDraftFolder(above, name);
  }
}

const databaseFiles = ['cert9.db', 'key4.db', 'pkcs11.txt'];
const [folderMode, fileMode] = [0o755, 0o644];

function build(above: Folder, wanted: WantedDatabase): Promise<'written'> {
  const { name, owner, afterStep } = wanted;
  return inDraft(above, async (database, draftName): Promise<'written'> => {
    afterStep('draft-opened');
    await giveTo(database.handle, owner, join(above.path, name));
    expectSuccess(database, await run(wanted, database, database, ['-N', '--empty-password']));
    await change(above, database, wanted, []);
    afterStep('draft-written');
    // an owner has them for himself, as the tool makes them
    if (owner === undefined) await openToReaders(database);
    await syncFolder(database);
    afterStep('draft-closed');
    await rename(above.at(draftName), above.at(name));
    afterStep('draft-renamed');
    await syncFolder(above);
    afterStep('folder-synced');
    return 'written';
  });
}

async function openToReaders(database: Folder): Promise<void> {
  for (const file of databaseFiles) {
    const handle = await open(database.at(file), constants.O_RDONLY | constants.O_NOFOLLOW);
    await handle.chmod(fileMode).finally(() => handle.close());
  }
  await database.handle.chmod(folderMode);
}

function run(
  { certutil, owner: user }: WantedDatabase,
  database: Folder,
  inputs: Folder,
  args: readonly string[],
): Promise<ToolResult> {
  return runCertutil({ certutil, database, inputs, args, user });
}

async function refresh(above: Folder, database: Folder, wanted: WantedDatabase): Promise<'written' | 'unchanged'> {
  await refuseForeign(database, wanted.owner?.uid ?? process.geteuid?.());
  const present = await nicknamesIn(database, wanted);
  const nicknames = new Set(byNickname(wanted).keys());
  const obsolete = [...present].filter((nickname) => !nicknames.has(nickname));
  if (obsolete.length === 0 && present.size === nicknames.size) return 'unchanged';
  await change(above, database, wanted, obsolete);
  wanted.afterStep('folder-synced');
  return 'written';
}

/** The tool follows links: it is let into a database only where nobody else but its user can put one. */
async function refuseForeign(database: Folder, user: number | undefined): Promise<void> {
  const files = await Promise.all(databaseFiles.map((name) => lookUp(database, name)));
  const isPlain = files.every((found) => found?.isFile() === true && found.nlink === 1);
  const isPrivate = [await database.handle.stat(), ...files].every(
    (found) => found !== undefined && found.uid === user && (found.mode & writableByOthers) === 0,
  );
  if (!isPlain || !isPrivate) throw volumeErrors.error('nss-database-unsafe', { path: database.path });
}

/** the same for a certificate whatever else the database has; its subject would not do, since two may share it */
function byNickname({ certificates }: WantedDatabase): ReadonlyMap<string, Uint8Array> {
  const nicknameOf = (der: Uint8Array): string => `leafgate-${createHash('sha256').update(der).digest('hex')}`;
  return new Map(certificates.map((der) => [nicknameOf(der), der]));
}

/** what the database trusts for servers, of what leafgate put there */
async function nicknamesIn(database: Folder, wanted: WantedDatabase): Promise<ReadonlySet<string>> {
  const listed = await run(wanted, database, database, ['-L']);
  expectSuccess(database, listed);
  return new Set([...listed.stdout.matchAll(/^(leafgate-[0-9a-f]{64}) +C,,/gm)].map(([, nickname = '']) => nickname));
}

/** Adds all that is wanted (what is there already stays as it is), then removes; then looks at what became of it. */
async function change(
  above: Folder,
  database: Folder,
  wanted: WantedDatabase,
  obsolete: readonly string[],
): Promise<void> {
  const additions = byNickname(wanted);
  const done = await inDraft(above, async (inputs) => {
    const commands = obsolete.map((nickname) => `-D -n ${nickname}`);
    await inputs.handle.chmod(0o711);
    for (const [nickname, der] of additions) {
      await writeInput(inputs, nickname, der);
      commands.unshift(`-A -n ${nickname} -t C,, -i ${inputPath(inputs, nickname)}`);
    }
    await writeInput(inputs, 'commands', `${commands.join('\n')}\n`);
    return await run(wanted, database, inputs, ['-B', '-i', inputPath(inputs, 'commands')]);
  });
  const present = await nicknamesIn(database, wanted);
  const isDone = [...additions.keys()].every((nickname) => present.has(nickname));
  if (!isDone || obsolete.some((nickname) => present.has(nickname))) throw toolFailed(database.path, lastLine(done));
}

/** for the user of the tool to read, whatever the umask */
async function writeInput(inputs: Folder, name: string, content: string | Uint8Array): Promise<void> {
  await writeFile(inputs.at(name), content, { flag: 'wx' });
  await chmod(inputs.at(name), fileMode);
}

function expectSuccess(database: Folder, result: ToolResult): void {
  if (result.status !== 0) throw toolFailed(database.path, lastLine(result));
}

function lastLine({ status, stderr }: ToolResult): string {
  const line = stderr.trim().split('\n').at(-1) ?? '';
  return line === '' ? `it ended with ${status}` : line;
}
