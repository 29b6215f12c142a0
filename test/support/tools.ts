// Where the peers of the tests are: real Envoys, Go and Python programs, the system's clients. Looks only, installs
// nothing (install-tools.mjs does), and says why something is missing.
import { accessSync, constants } from 'node:fs';
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
] as const;
/** made from test/support/go and test/support/go-zlint by install-tools.mjs */
const goTools = ['sds-peer', 'sds-load', 'tls-load', 'fetch-peer', 'verify-peer', 'zlint'] as const;

/** of `npm run bench`, from test/support/go-bench: `install-tools.mjs --bench` makes them */
const benchTools = ['proxy-load', 'tls-origin', 'goproxy-peer'] as const;

export type EnvoyVersion = '1.37.0' | '1.38.3' | '1.39.3' | '1.40.0';
export type ToolName =
  | (typeof systemTools)[number]
  | (typeof goTools)[number]
  | (typeof benchTools)[number]
  | ClusterProgram
  | 'mitmdump'
  | `envoy-${EnvoyVersion}`
  /** the virtual environment with requests, httpx and cryptography */
  | 'python'
  /** its linter for certificates: prefix of lint_pkix_cert and the like */
  | 'pkilint';

export type FoundTool =
  { readonly path: string; readonly missing?: never } | { readonly path?: never; readonly missing: string };

const installHint = 'run `node test/support/install-tools.mjs`';
const clusterHint = 'run `node test/support/install-tools.mjs --cluster`';
const benchHint = 'run `node test/support/install-tools.mjs --bench`';

export function findTool(name: ToolName): FoundTool {
  if (isOneOf(systemTools, name)) return onPath(name);
  if (isOneOf(clusterPrograms, name)) return clusterProgram(name);
  const hint = name === 'mitmdump' || isOneOf(benchTools, name) ? benchHint : installHint;
  return executable(toolPath(name), `${name}: ${hint}`);
}

/** the user's cache of this project: `${XDG_CACHE_HOME:-~/.cache}/leafgate` */
export function cacheFolder(): string {
  const xdg = process.env['XDG_CACHE_HOME'];
  return join(xdg === undefined || xdg === '' ? join(homedir(), '.cache') : xdg, 'leafgate');
}

/** what the environment names wins, also when it is not there: somebody meant it */
function clusterProgram(name: ClusterProgram): FoundTool {
  const given = givenProgram(name);
  if (given !== undefined) return executable(given, `${name}: the environment names ${given}, which cannot be run`);
  return executable(builtProgram(name), `${name}: ${clusterHint}`);
}

function toolPath(name: Exclude<ToolName, (typeof systemTools)[number] | ClusterProgram>): string {
  const installed = join(cacheFolder(), 'test-tools');
  if (name === 'python') return join(installed, 'venv', 'bin', 'python');
  if (name === 'pkilint') return join(installed, 'venv', 'bin', 'lint_pkix_cert');
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
