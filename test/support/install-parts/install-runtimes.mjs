// Brings the JavaScript runtimes that tests use as clients, and npm itself: locked packages that hold the programs, so that
// none of their scripts has to run. Each machine gets those of its own kind.
import { cp, readFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installFolder, tools } from './cache-folder.mjs';
import { run } from './run-tool.mjs';

const source = join(dirname(fileURLToPath(import.meta.url)), '..', 'runtimes');

export async function installRuntimes() {
  const lock = await readFile(join(source, 'package-lock.json'));
  const stamp = createHash('sha256').update(`${process.platform} ${process.arch}\n`).update(lock).digest('hex');
  return installFolder(join(tools, 'runtimes'), stamp, async (fresh) => {
    await cp(source, fresh, { recursive: true });
    // the prefix is given in words, since npm run, which may have started this, gives its own in the environment
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
    await run('npm', ['ci', '--prefix', fresh, '--ignore-scripts', ...quiet], { cwd: fresh });
  });
}
