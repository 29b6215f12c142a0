// Finds an Envoy, starts it on the rendered files and sees to it that it is drained and stopped with the gateway.
import { homedir } from 'node:os';
import type { DurationMs } from '../clock.ts';
import { defaultCacheDir, findEnvoy, gatewayMinVersion } from '../envoy/find-envoy.ts';
import { activeConnections } from '../envoy/drain-listeners.ts';
import { startEnvoy, type EnvoyProcess } from '../envoy/envoy-process.ts';
import { versionText } from '../envoy/envoy-version.ts';
import type { GatewaySpec, ListenAddress } from '../settings/gateway-spec.ts';
import { listenAddressText } from '../settings/parse-listen.ts';
import { isIpv6, isUnspecified, parseIpAddress } from '../names/ip-address.ts';
import { recordFlushMs } from './gateway-records.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { Surroundings } from './surroundings.ts';

export type LaunchParts = Surroundings & {
  readonly spec: GatewaySpec;
  readonly bootstrapPath: string;
  readonly options: GatewayOptions;
  readonly env: { readonly [name: string]: string | undefined };
  readonly progress: (sentence: string) => void;
  readonly aborted: AbortSignal;
  /** how long open connections get on a stop; 0 stops at once */
  readonly drainMs: DurationMs;
};

/** a validated configuration is LIVE in under a second; a busy machine may take many */
const readyTimeoutMs = 30_000;

export async function launchEnvoy(parts: LaunchParts): Promise<EnvoyProcess> {
  const { spec, options, metrics, drainMs } = parts;
  const found = await findEnvoy({
    ...(options.envoy === undefined ? {} : { named: options.envoy }),
    env: parts.env,
    cacheDir: defaultCacheDir(parts.env, homedir()),
    minVersion: gatewayMinVersion,
    progress: parts.progress,
    install: true,
    signal: parts.aborted,
  });
  parts.aborted.throwIfAborted();
  parts.log.debug('envoy found', { path: found.path, version: versionText(found.version), detail: found.source });
  const envoy = await startEnvoy({
    binary: found.path,
    bootstrapPath: parts.bootstrapPath,
    adminSocket: spec.paths.adminSocket,
    listen: listenersOf(spec),
    log: parts.log,
    clock: parts.clock,
    readyTimeoutMs,
    ...(drainMs > 0 ? { drainMs } : {}),
    fileFlushMs: recordFlushMs,
  });
  metrics.count('leafgate_envoy_starts_total');
  metrics.set('leafgate_envoy_up', 1);
  void envoy.exited.then(() => metrics.set('leafgate_envoy_up', 0));
  metrics.beforeScrape(async () => metrics.set('leafgate_envoy_connections', await activeConnections(envoy.admin)));
  parts.closers.add('Envoy', async () => {
    await (drainMs > 0 ? envoy.drainAndStop(drainMs) : envoy.kill());
  });
  return envoy;
}

function listenersOf({ listen, front, transparent }: GatewaySpec): readonly ListenAddress[] {
  const redirected = transparent?.addresses.map((address) => ({ address, port: transparent.port })) ?? [];
  return [listen, ...(front?.listen === undefined ? [] : [front.listen]), ...redirected];
}

/** Where clients of this machine connect. */
export function proxyUrlOf({ address, port }: ListenAddress, scheme: 'http' | 'https' = 'http'): string {
  const loopback = parseIpAddress(isIpv6(address) ? '::1' : '127.0.0.1');
  const reachable = isUnspecified(address) && loopback !== undefined ? loopback : address;
  return `${scheme}://${listenAddressText({ address: reachable, port })}`;
}
