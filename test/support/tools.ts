// Where the peers of the tests are: real Envoys, Go and Python programs, the system's clients. Looks only, installs
// nothing (install-tools.mjs does), and says why something is missing.
import { accessSync, constants, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { builtProgram, clusterPrograms, givenProgram, type ClusterProgram } from './install-parts/cluster-tools.mjs';
import { scrubbedEnvironment } from './scrubbed-environment.ts';

const systemTools = [
  'curl',
  'wget',
  'git',
  'openssl',
  'ip',
  'nft',
  'unshare',
  'nsenter',
  'chromium',
  'firefox-esr',
  'certutil',
  'apt-get',
  'cargo',
  'dpkg-deb',
  'java',
  'javac',
  'keytool',
  'php',
  'ruby',
  'tar',
] as const;
/** made from test/support/go and test/support/go-zlint by install-tools.mjs, beside the Go that made them */
const goTools = ['sds-peer', 'sds-load', 'tls-load', 'fetch-peer', 'verify-peer', 'zlint', 'go'] as const;

/** packages of test/support/runtimes, and the program in each */
const runtimes = {
  'node-20': `node-20-${process.arch}/bin/node`,
  'node-26': `node-26-${process.arch}/bin/node`,
  deno: `@deno/linux-${process.arch}-glibc/deno`,
  bun: `@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64-baseline'}/bin/bun`,
  npm: 'npm/bin/npm-cli.js',
} as const;
const runtimeTools = Object.keys(runtimes) as (keyof typeof runtimes)[];

/** of `npm run bench`, from test/support/go-bench: `install-tools.mjs --bench` makes them */
const benchTools = ['proxy-load', 'tls-origin', 'goproxy-peer'] as const;

export type EnvoyVersion = '1.37.0' | '1.38.3' | '1.39.3' | '1.40.0';
export type ToolName =
  | (typeof systemTools)[number]
  | (typeof goTools)[number]
  | (typeof benchTools)[number]
  | ClusterProgram
  | 'mitmdump'
  | keyof typeof runtimes
  /** the one that the tests run on */
  | 'node-24'
  /** the system's Python, with libcurl as Debian links it to GnuTLS */
  | 'pycurl'
  /** the system's Perl, with LWP and its HTTPS */
  | 'perl-lwp'
  | `envoy-${EnvoyVersion}`
  /** the virtual environment with requests, httpx, aiohttp, pip and cryptography */
  | 'python'
  /** of that environment */
  | 'uv'
  /** its linter for certificates: prefix of lint_pkix_cert and the like */
  | 'pkilint'
  /** scans a TLS port */
  | 'sslyze';

export type FoundTool =
  { readonly path: string; readonly missing?: never } | { readonly path?: never; readonly missing: string };

const installHint = 'run `node test/support/install-tools.mjs`';
const clusterHint = 'run `node test/support/install-tools.mjs --cluster`';
const benchHint = 'run `node test/support/install-tools.mjs --bench`';

export function findTool(name: ToolName): FoundTool {
  if (isOneOf(systemTools, name)) return onPath(name);
  if (isOneOf(clusterPrograms, name)) return clusterProgram(name);
  if (name === 'pycurl') return withModule('/usr/bin/python3', '/usr/lib/python3/dist-packages', /^pycurl/);
  if (name === 'perl-lwp') return withModule('/usr/bin/perl', '/usr/share/perl5/LWP/Protocol', /^https\.pm$/);
  if (name === 'node-24') return { path: process.execPath };
  const hint = name === 'mitmdump' || isOneOf(benchTools, name) ? benchHint : installHint;
  return executable(toolPath(name), `${name}: ${hint}`);
}

/** the user's cache of this project: `${XDG_CACHE_HOME:-~/.cache}/leafgate` */
export function cacheFolder(): string {
  const xdg = process.env['XDG_CACHE_HOME'];
  return join(xdg === undefined || xdg === '' ? join(homedir(), '.cache') : xdg, 'leafgate');
}

/** the packages of test/support/runtimes, undici among them */
export function runtimePackage(name: string): string {
  return join(cacheFolder(), 'test-tools', 'runtimes', 'node_modules', name);
}

/** a program of the system that is of use with a module alone */
function withModule(path: string, folder: string, module: RegExp): FoundTool {
  try {
    if (readdirSync(folder).some((name) => module.test(name))) return { path };
  } catch {
    // no such folder
  }
  return { missing: `nothing like ${module} in ${folder} for ${path}` };
}

/** what the environment names wins, also when it is not there: somebody meant it */
function clusterProgram(name: ClusterProgram): FoundTool {
  const given = givenProgram(name);
  if (given !== undefined) return executable(given, `${name}: the environment names ${given}, which cannot be run`);
  return executable(builtProgram(name), `${name}: ${clusterHint}`);
}

function toolPath(
  name: Exclude<ToolName, (typeof systemTools)[number] | ClusterProgram | 'pycurl' | 'perl-lwp' | 'node-24'>,
): string {
  const installed = join(cacheFolder(), 'test-tools');
  if (name === 'python') return join(installed, 'venv', 'bin', 'python');
  if (name === 'sslyze') return join(installed, 'sslyze-venv', 'bin', 'sslyze');
  if (name === 'pkilint') return join(installed, 'venv', 'bin', 'lint_pkix_cert');
  if (name === 'uv') return join(installed, 'venv', 'bin', 'uv');
  if (isOneOf(runtimeTools, name)) return runtimePackage(runtimes[name]);
  if (name === 'mitmdump') return join(installed, 'mitmproxy-venv', 'bin', 'mitmdump');
  if (isOneOf(benchTools, name)) return join(installed, 'bench-bin', name);
  if (isOneOf(goTools, name)) return join(installed, 'go-bin', name);
  const version = name.slice('envoy-'.length);
  // 1.40.0 is what the product itself installs, so tests use that very file
  return version === '1.40.0'
    ? join(cacheFolder(), 'envoy', version, 'envoy')
    : join(installed, 'envoy', version, 'envoy');
}

function onPath(name: string): FoundTool {
  const { PATH: path = '' } = scrubbedEnvironment('/');
  for (const folder of path.split(':')) {
    const found = executable(join(folder, name), '');
    if (found.path !== undefined) return found;
  }
  return { missing: `${name} is not on the path (${path})` };
}

function executable(path: string, missing: string): FoundTool {
  try {
    accessSync(path, constants.X_OK);
    return { path };
  } catch {
    return { missing };
  }
}

function isOneOf<Name extends string>(names: readonly Name[], name: string): name is Name {
  return (names as readonly string[]).includes(name);
}
