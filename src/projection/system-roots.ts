// The root certificates of this machine, or of the root file system of an actor, read leniently: distributions ship what a
// strict reader refuses (comments, negative serials), and one odd root must not cost all others. Must not know what they
// are merged with.
import { rootCertificates } from 'node:tls';
import { readRegularFile, type FileContent } from '../read-regular-file.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { readCertificate } from '../x509/read-certificate.ts';
import { systemRootFiles, systemRootFolders } from '../x509/system-root-files.ts';
import { listFolderInside, readFileInside } from './read-inside.ts';

export type SystemRoots = {
  /** the file or folder, or undefined when the roots built into Node were taken because there was none */
  readonly path: string | undefined;
  readonly certificates: readonly Certificate[];
  /** blocks that could not be read and were left out */
  readonly skipped: number;
};

/** Never fails for want of a file: a machine without one (a slim image) gets Node's own copy of Mozilla's roots. */
export async function readSystemRoots(files = systemRootFiles): Promise<SystemRoots> {
  return parseRootsText(await readRootsText(machineFiles(files)));
}

/** what was found, unparsed: cheap to read again and to compare */
export type RootsText = { readonly path: string | undefined; readonly text: string; readonly isFolder: boolean };

/** a place where roots are looked for */
export type RootsPlace = {
  readonly files: readonly string[];
  readonly folders: readonly string[];
  readonly read: (path: string) => Promise<FileContent>;
  readonly list: (path: string) => Promise<readonly string[]>;
};

/** the largest that a distribution was seen to ship has 0.5 MB */
const maxRootsBytes = 4 * 1024 * 1024;
/** Debian has 290 names for 145 roots */
const maxRootFiles = 2000;

function machineFiles(files: readonly string[]): RootsPlace {
  return { files, folders: [], read: (path) => readRegularFile(path, maxRootsBytes), list: () => Promise.resolve([]) };
}

/** This machine's files, or those below `root`: of an actor's root file system, which nothing leads out of. */
export function rootsPlace(root: string | undefined): RootsPlace {
  if (root === undefined) return machineFiles(systemRootFiles);
  return {
    ...{ files: systemRootFiles, folders: systemRootFolders },
    read: (path) => readFileInside(root, path, maxRootsBytes),
    list: (path) => listFolderInside(root, path, maxRootFiles),
  };
}

/** The first file, else the first folder, that has a certificate that can be read; else Node's own roots. Never rejects. */
export async function readRootsText(place: RootsPlace): Promise<RootsText> {
  for (const path of place.files) {
    const text = textOf(await place.read(path));
    if (hasRoots(text)) return { path, text, isFolder: false };
  }
  for (const path of place.folders) {
    const text = await readFolder(place, path);
    if (hasRoots(text)) return { path, text, isFolder: true };
  }
  return { path: undefined, text: rootCertificates.join('\n'), isFolder: false };
}

export function parseRootsText({ path, text }: RootsText): SystemRoots {
  return { path, ...parseRoots(text) };
}

async function readFolder({ list, read }: RootsPlace, folder: string): Promise<string> {
  const texts: string[] = [];
  let length = 0;
  for (const name of await list(folder)) {
    const text = textOf(await read(`${folder}/${name}`));
    if (length + text.length > maxRootsBytes) break;
    length += text.length;
    texts.push(text);
  }
  return texts.join('\n');
}

function textOf(content: FileContent): string {
  return content.kind === 'bytes' ? Buffer.from(content.bytes).toString('latin1') : '';
}

/** Stops at the first. */
function hasRoots(text: string): boolean {
  for (const { label, body } of certificateBlocks(text)) if (tryRead(label, body) !== undefined) return true;
  return false;
}

/** Every certificate that can be read; a duplicate (by DER) is kept once. */
export function parseRoots(text: string): Pick<SystemRoots, 'certificates' | 'skipped'> {
  const bySha256 = new Map<string, Certificate>();
  let skipped = 0;
  for (const { label, body } of certificateBlocks(text)) {
    const certificate = tryRead(label, body);
    if (certificate === undefined) skipped += 1;
    else bySha256.set(certificate.sha256, certificate);
  }
  return { certificates: [...bySha256.values()], skipped };
}

type RootBlock = { readonly label: string; readonly body: string };

/** far more than anybody trusts; reading one that is broken costs time, too */
const maxRootBlocks = 4000;

/** In time that grows with the text alone, whoever wrote it. */
function* certificateBlocks(text: string): Generator<RootBlock> {
  const begin = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----/g;
  const unended = new Set<string>();
  let blocks = 0;
  for (let found = begin.exec(text); found !== null && blocks < maxRootBlocks; found = begin.exec(text)) {
    const [marker, label = ''] = found;
    if (unended.has(label)) continue;
    const start = found.index + marker.length;
    const end = text.indexOf(`-----END ${label}-----`, start);
    if (end === -1) {
      unended.add(label);
      continue;
    }
    blocks += 1;
    yield { label, body: text.slice(start, end) };
    begin.lastIndex = end;
  }
}

function tryRead(label: string, body: string): Certificate | undefined {
  // OpenSSL's trusted form says more than a root
  if (label === 'TRUSTED CERTIFICATE') return undefined;
  try {
    return readCertificate(new Uint8Array(Buffer.from(body, 'base64')));
  } catch {
    return undefined;
  }
}
