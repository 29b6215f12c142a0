// A database of NSS, which Chromium and Firefox read, that trusts the certificates of a bundle. A new one is made beside
// its place and renamed; one that is there is changed in place by NSS's own tool under NSS's own locks: a running Firefox
// takes the change at once, Chromium when it is started again (measured), and no file is swapped under a program that
// writes to it. Must not know bundles or actors.
import { createHash } from 'node:crypto';
import { mkdir, open, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { enter, lookUp, syncFolder, unsafe, type Folder } from './held-folder.ts';
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
  readonly afterStep: (step: WriteStep) => void;
};

/**
 * Certificates are added before others are removed: in between, the database trusts both. What else somebody keeps in it
 * stays. It is its writer's own with the modes 0755 and 0644, whatever a volume asks for: where others may write, a tool
 * that follows links is not let in. Rejects with `nss-…`, `volume-entry-unsafe`, or what the system says.
 */
export async function keepDatabase(above: Folder, wanted: WantedDatabase): Promise<'written' | 'unchanged'> {
  const found = await lookUp(above, wanted.name);
  if (found === undefined) return await build(above, wanted);
  if (!wanted.isOurs || !found.isDirectory()) throw unsafe(join(above.path, wanted.name), found);
  return await entered(above, wanted.name, (database) => refresh(above, database, wanted));
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

/** a folder that nobody else sees into, gone afterwards unless it got another name */
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
  const { name, certutil, afterStep } = wanted;
  return inDraft(above, async (database, draftName): Promise<'written'> => {
    afterStep('draft-opened');
    const made = await runCertutil({ certutil, database, inputs: database, args: ['-N', '--empty-password'] });
    expectSuccess(database, made);
    await change(above, database, wanted, []);
    afterStep('draft-written');
    for (const file of databaseFiles) {
      const handle = await open(database.at(file), 'r');
      await handle.chmod(fileMode).finally(() => handle.close());
    }
    await database.handle.chmod(folderMode);
    await syncFolder(database);
    afterStep('draft-closed');
    await rename(above.at(draftName), above.at(name));
    afterStep('draft-renamed');
    await syncFolder(above);
    afterStep('folder-synced');
    return 'written';
  });
}

async function refresh(above: Folder, database: Folder, wanted: WantedDatabase): Promise<'written' | 'unchanged'> {
  await refuseForeign(database);
  const present = await nicknamesIn(database, wanted);
  const nicknames = new Set(byNickname(wanted).keys());
  const obsolete = [...present].filter((nickname) => !nicknames.has(nickname));
  if (obsolete.length === 0 && present.size === nicknames.size) return 'unchanged';
  await change(above, database, wanted, obsolete);
  wanted.afterStep('folder-synced');
  return 'written';
}

/** The tool follows links: it is let into a database only where nobody else can put one. */
async function refuseForeign(database: Folder): Promise<void> {
  const files = await Promise.all(databaseFiles.map((name) => lookUp(database, name)));
  const isPlain = files.every((found) => found?.isFile() === true && found.nlink === 1);
  const user = process.geteuid?.();
  const isPrivate = [await database.handle.stat(), ...files].every(
    (found) => found !== undefined && found.uid === user && (found.mode & 0o022) === 0,
  );
  if (!isPlain || !isPrivate) throw volumeErrors.error('nss-database-unsafe', { path: database.path });
}

/** the same for a certificate whatever else the database has; its subject would not do, since two may share it */
function byNickname({ certificates }: WantedDatabase): ReadonlyMap<string, Uint8Array> {
  const nicknameOf = (der: Uint8Array): string => `leafgate-${createHash('sha256').update(der).digest('hex')}`;
  return new Map(certificates.map((der) => [nicknameOf(der), der]));
}

/** what the database trusts for servers, of what leafgate put there */
async function nicknamesIn(database: Folder, { certutil }: WantedDatabase): Promise<ReadonlySet<string>> {
  const listed = await runCertutil({ certutil, database, inputs: database, args: ['-L'] });
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
    for (const [nickname, der] of additions) {
      await writeFile(inputs.at(nickname), der);
      commands.unshift(`-A -n ${nickname} -t C,, -i ${inputPath(inputs, nickname)}`);
    }
    await writeFile(inputs.at('commands'), `${commands.join('\n')}\n`);
    const args = ['-B', '-i', inputPath(inputs, 'commands')];
    return await runCertutil({ certutil: wanted.certutil, database, inputs, args });
  });
  const present = await nicknamesIn(database, wanted);
  const isDone = [...additions.keys()].every((nickname) => present.has(nickname));
  if (!isDone || obsolete.some((nickname) => present.has(nickname))) throw toolFailed(database.path, lastLine(done));
}

function expectSuccess(database: Folder, result: ToolResult): void {
  if (result.status !== 0) throw toolFailed(database.path, lastLine(result));
}

function lastLine({ status, stderr }: ToolResult): string {
  const line = stderr.trim().split('\n').at(-1) ?? '';
  return line === '' ? `it ended with ${status}` : line;
}
