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

/** @throws envoy-admin-failed */
export async function readRunningEnvoy(admin: AdminClient): Promise<RunningEnvoy> {
  const { status, body } = await admin.get('/server_info');
  const parsed = parseObject(body);
  if (status !== 200 || parsed === undefined) {
    throw envoyErrors.error('envoy-admin-failed', { request: 'GET /server_info', detail: `status ${status}` });
  }
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
