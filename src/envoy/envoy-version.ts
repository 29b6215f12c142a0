// Reading and comparing Envoy's version. Must not know where a binary comes from.
import { execFile, type ExecFileException } from 'node:child_process';
import { systemCode, systemReason } from '../system-error.ts';

export type EnvoyVersion = { readonly major: number; readonly minor: number; readonly patch: number };

/** how long `envoy --version` may take: 0.1 s measured, a cold page cache of 107 MB included */
const versionTimeoutMs = 20_000;

/** Reads `envoy  version: <commit>/1.40.0/Clean/RELEASE/BoringSSL`; also a bare `1.40.0` or `1.41.0-dev`. */
export function parseEnvoyVersion(text: string): EnvoyVersion | undefined {
  const found = /(?:^|[\s/v])(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?=$|[\s/-])/.exec(text.slice(0, 1000));
  if (found === null) return undefined;
  return { major: Number(found[1]), minor: Number(found[2]), patch: Number(found[3]) };
}

export function isAtLeast(version: EnvoyVersion, minimum: EnvoyVersion): boolean {
  if (version.major !== minimum.major) return version.major > minimum.major;
  if (version.minor !== minimum.minor) return version.minor > minimum.minor;
  return version.patch >= minimum.patch;
}

export function versionText(version: EnvoyVersion): string {
  return `${version.major}.${version.minor}.${version.patch}`;
}

export type VersionAnswer =
  { readonly kind: 'version'; readonly version: EnvoyVersion } | { readonly kind: 'unusable'; readonly detail: string };

/** Runs `path --version`. Never throws: what does not run, or is not Envoy, is `unusable` with a short detail. */
export function readEnvoyVersion(path: string): Promise<VersionAnswer> {
  return new Promise((resolve) => {
    const options = { timeout: versionTimeoutMs, maxBuffer: 64 * 1024, env: { PATH: '/usr/local/bin:/usr/bin:/bin' } };
    execFile(path, ['--version'], options, (error, stdout, stderr) => {
      resolve(error === null ? readAnswer(stdout) : { kind: 'unusable', detail: whyUnusable(error, stderr) });
    });
  });
}

function readAnswer(stdout: string): VersionAnswer {
  const version = parseEnvoyVersion(stdout);
  if (version === undefined) return { kind: 'unusable', detail: 'it does not tell its version' };
  return { kind: 'version', version };
}

function whyUnusable(error: ExecFileException, stderr: string): string {
  const code = systemCode(error);
  if (code === 'ENOENT') return 'there is no such file, or its loader is missing';
  if (code === 'EACCES') return 'it may not be executed';
  if (code !== undefined) return systemReason(error);
  const firstLine = stderr.trim().split('\n')[0] ?? '';
  if (firstLine !== '') return firstLine;
  return `running it with --version failed (${typeof error.code === 'number' ? `exit code ${error.code}` : 'timed out'})`;
}
