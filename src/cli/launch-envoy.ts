// Finds an Envoy, starts it on the rendered files and sees to it that it is drained and stopped with the gateway.
import { homedir } from 'node:os';
import { z } from 'zod';
import type { Clock, DurationMs } from '../clock.ts';
import { defaultCacheDir, findEnvoy, gatewayMinVersion } from '../envoy/find-envoy.ts';
import type { AdminClient } from '../envoy/admin-client.ts';
import { startEnvoy, type EnvoyProcess } from '../envoy/envoy-process.ts';
import { versionText } from '../envoy/envoy-version.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { Log } from '../observe/log.ts';
import type { GatewaySpec, ListenAddress } from '../settings/gateway-spec.ts';
import { listenAddressText } from '../settings/parse-listen.ts';
import { parseIpAddress } from '../names/ip-address.ts';
import { cliErrors } from './cli-errors.ts';
import type { Closers } from './closers.ts';
import { recordFlushMs } from './gateway-records.ts';
import type { GatewayOptions } from './gateway-options.ts';

export type LaunchParts = {
  readonly spec: GatewaySpec;
  readonly bootstrapPath: string;
  readonly options: GatewayOptions;
  readonly env: { readonly [name: string]: string | undefined };
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly closers: Closers;
  readonly progress: (sentence: string) => void;
  /** how long open connections get on a stop; 0 stops at once */
  readonly drainMs: DurationMs;
};

/** a validated configuration is LIVE in under a second; a busy machine may take many */
const readyTimeoutMs = 30_000;

export async function launchEnvoy(parts: LaunchParts): Promise<EnvoyProcess> {
  const { spec, options, metrics, drainMs } = parts;
  const found = await findEnvoy({
    env: options.envoyFile === undefined ? parts.env : { ...parts.env, LEAFGATE_ENVOY: options.envoyFile },
    cacheDir: defaultCacheDir(parts.env, homedir()),
    minVersion: gatewayMinVersion,
    progress: parts.progress,
    install: true,
  });
  parts.log.debug('envoy found', { path: found.path, version: versionText(found.version), detail: found.source });
  const envoy = await startEnvoy({
    binary: found.path,
    bootstrapPath: parts.bootstrapPath,
    adminSocket: spec.paths.adminSocket,
    listen: [spec.listen],
    log: parts.log,
    clock: parts.clock,
    readyTimeoutMs,
    ...(drainMs > 0 ? { drainMs } : {}),
    fileFlushMs: recordFlushMs,
  });
  metrics.count('leafgate_envoy_starts_total');
  metrics.set('leafgate_envoy_up', 1);
  void envoy.exited.then(() => metrics.set('leafgate_envoy_up', 0));
  parts.closers.add('Envoy', async () => {
    await (drainMs > 0 ? envoy.drainAndStop(drainMs) : envoy.kill());
  });
  return envoy;
}

const listenersSchema = z.object({
  listener_statuses: z.array(
    z.object({
      name: z.string(),
      local_address: z.object({ socket_address: z.object({ address: z.string(), port_value: z.int() }).optional() }),
    }),
  ),
});

/** Where clients connect, with the port that the system chose when 0 was asked for. */
export async function proxyUrlOf(admin: AdminClient, asked: ListenAddress): Promise<string> {
  const answer = await admin.get('/listeners?format=json');
  const statuses = listenersSchema.parse(JSON.parse(answer.body)).listener_statuses;
  const bound = statuses.find(({ name }) => name === 'explicit')?.local_address.socket_address;
  const address = parseIpAddress(bound?.address ?? '');
  if (bound === undefined || address === undefined)
    throw cliErrors.error('self-check-failed', { detail: 'Envoy does not listen' });
  return `http://${listenAddressText({ address: reachable(address, asked), port: bound.port_value })}`;
}

/** a wildcard address is listened on, not connected to */
function reachable(bound: ListenAddress['address'], asked: ListenAddress): ListenAddress['address'] {
  const loopback = bound.text === '0.0.0.0' ? '127.0.0.1' : bound.text === '::' ? '::1' : undefined;
  return loopback === undefined ? bound : (parseIpAddress(loopback) ?? asked.address);
}
