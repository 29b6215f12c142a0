// The files that actors trust by: the gateway's anchors alone, and the anchors merged with the system roots. Written
// whole or not at all, byte for byte the same for the same certificates. Must not know who reads them.
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { makeFolder } from '../make-folder.ts';
import { replaceFile } from '../replace-file.ts';
import { systemReason } from '../system-error.ts';
import { bundleText } from '../x509/bundle-text.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { encodePkcs12TrustStore } from '../x509/pkcs12-trust-store.ts';
import { clientFileNames, clientFiles, type ClientFileParts } from './client-files.ts';
import { projectionErrors } from './projection-errors.ts';

/** absolute paths */
export type TrustFiles = {
  /** anchors only: for variables that add to a client's own roots */
  readonly caFile: string;
  /** anchors and system roots: right for variables that add and for those that replace */
  readonly mergedFile: string;
  /** the same as a trust store of Java's (PKCS#12) */
  readonly p12File: string;
  /** for wget, apt and PHP, which read no variable for their roots */
  readonly wgetrcFile: string;
  readonly aptConfFile: string;
  /** PHP reads every .ini file in it */
  readonly phpFolder: string;
};

export type WriteTrustFilesOptions = {
  readonly dir: string;
  readonly anchors: readonly Certificate[];
  readonly systemRoots: readonly Certificate[];
  /** what an owner's settings files say beside ours */
  readonly settings?: Pick<ClientFileParts, 'wgetrc' | 'aptConf'>;
};

export function trustFilePaths(dir: string): TrustFiles {
  return {
    caFile: join(dir, 'ca.pem'),
    mergedFile: join(dir, 'ca-and-system.pem'),
    p12File: join(dir, 'ca-and-system.p12'),
    wgetrcFile: join(dir, clientFileNames.wgetrc),
    aptConfFile: join(dir, clientFileNames.aptConf),
    phpFolder: join(dir, clientFileNames.phpFolder),
  };
}

/** A file that already has the right bytes is left alone, so that whoever watches it is not woken. */
export async function writeTrustFiles(options: WriteTrustFilesOptions): Promise<TrustFiles> {
  const { dir, anchors, systemRoots, settings } = options;
  const paths = trustFilePaths(dir);
  const all = [...anchors, ...systemRoots];
  try {
    makeFolder(paths.phpFolder);
    await writeIfNew(paths.caFile, bundleText(anchors));
    await writeIfNew(paths.mergedFile, bundleText(all));
    await writeIfNew(paths.p12File, encodePkcs12TrustStore(all.map(({ der }) => der)));
    // a wgetrc may hold passwords
    const mode = (settings?.wgetrc ?? '') === '' ? fileMode : 0o600;
    for (const { name, text } of clientFiles(paths.mergedFile, { ...settings, isForRootAlone: isForRootAlone(dir) })) {
      await writeIfNew(join(dir, name), text, mode);
    }
  } catch (thrown) {
    throw projectionErrors.error('trust-files-not-written', { dir, detail: systemReason(thrown) }, thrown);
  }
  return paths;
}

/** whether we are root, and others cannot come to the folder */
function isForRootAlone(dir: string): boolean {
  if (process.getuid?.() !== 0) return false;
  const folders = [resolve(dir)];
  for (let above = dirname(resolve(dir)); above !== folders.at(-1); above = dirname(above)) folders.push(above);
  return folders.some((folder) => (statSync(folder).mode & 0o001) === 0);
}

/** public certificates: any local user may read them where the folder lets him */
const fileMode = 0o644;

async function writeIfNew(path: string, content: string | Uint8Array, mode = fileMode): Promise<void> {
  const bytes = Buffer.from(content);
  if ((await readFile(path).catch(() => undefined))?.equals(bytes) === true) return;
  await replaceFile(path, bytes, mode);
}
