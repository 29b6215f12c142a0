// What a running Envoy says of itself on its admin interface: version, state, connections. Must not know who asks.
import type { AdminClient } from './admin-client.ts';
import { activeConnections } from './drain-listeners.ts';
import { envoyErrors } from './envoy-errors.ts';
import { parseEnvoyVersion, versionText } from './envoy-version.ts';

export type RunningEnvoy = {
  readonly version: string;
  /** LIVE, DRAINING, PRE_INITIALIZING or INITIALIZING */
  readonly state: string;
  /** open connections of clients */
  readonly connections: number;
};

/** `uptimeSeconds` is the process's own: a smaller one is another process. */
export type RunState = { readonly state: string; readonly uptimeSeconds: number };

/** @throws envoy-admin-failed */
export async function readRunState(admin: AdminClient): Promise<RunState> {
  const parsed = await readServerInfo(admin);
  const uptime = /^(\d+)s$/.exec(String(parsed['uptime_current_epoch']))?.[1];
  return { state: String(parsed['state']), uptimeSeconds: Number(uptime ?? 0) };
}

async function readServerInfo(admin: AdminClient): Promise<Readonly<Record<string, unknown>>> {
  const { status, body } = await admin.get('/server_info');
  const parsed = parseObject(body);
  if (status === 200 && parsed !== undefined) return parsed;
  throw envoyErrors.error('envoy-admin-failed', { request: 'GET /server_info', detail: `status ${status}` });
}

/** @throws envoy-admin-failed */
export async function readRunningEnvoy(admin: AdminClient): Promise<RunningEnvoy> {
  const parsed = await readServerInfo(admin);
  const version = parseEnvoyVersion(String(parsed['version']));
  return {
    version: version === undefined ? 'unknown' : versionText(version),
    state: String(parsed['state']),
    connections: await activeConnections(admin),
  };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
