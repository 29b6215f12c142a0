// A real Envoy for a test: started with a bootstrap of the test's, awaited until it listens, ended by pid, its log kept
// for the day when something fails.
import { writeFileSync } from 'node:fs';
import { createAdminClient } from '../../src/envoy/admin-client.ts';
import type { AdminClient } from '../../src/envoy/admin-client.ts';
import { minimalBootstrap } from './minimal-bootstrap.ts';
import type { SdsTransport } from './minimal-bootstrap.ts';
import { startProcess } from './run-command.ts';
import type { ExitInfo } from './run-command.ts';
import { scrubbedEnvironment } from './scrubbed-environment.ts';
import type { TempFolder } from './temp-folder.ts';
import { waitFor } from './wait-for.ts';

export type EnvoyUnderTest = {
  readonly pid: number;
  /** of the TLS listener, on 127.0.0.1 */
  readonly port: number;
  readonly admin: AdminClient;
  /** a counter or gauge by its full name; 0 when it does not exist (yet) */
  stat(name: string): Promise<number>;
  /** secrets that the selector holds */
  liveNames(): Promise<number>;
  /** what Envoy wrote, newest last */
  log(): string;
  stop(): Promise<ExitInfo>;
  kill(): Promise<ExitInfo>;
};

export type EnvoyOptions = {
  readonly binary: string;
  readonly folder: TempFolder;
  readonly sdsSocket: string;
  /** in place of the socket */
  readonly sdsCluster?: object | undefined;
  readonly transport: SdsTransport;
  readonly concurrency?: number;
};

export async function startEnvoyUnderTest(options: EnvoyOptions): Promise<EnvoyUnderTest> {
  const { folder } = options;
  const adminSocket = folder.file('admin.sock');
  const bootstrap = minimalBootstrap({ ...options, adminSocket });
  const bootstrapFile = folder.file('bootstrap.json');
  writeFileSync(bootstrapFile, JSON.stringify(bootstrap));
  const child = startProcess(
    options.binary,
    [
      ...['--config-path', bootstrapFile, '--disable-hot-restart', '--log-level', 'warning'],
      ...['--concurrency', String(options.concurrency ?? 2), '--file-flush-interval-msec', '50'],
    ],
    { env: scrubbedEnvironment(folder.path) },
  );
  // 5,000 names have 76,068 lines of statistics where they are not excluded
  const admin = createAdminClient(adminSocket, { timeoutMs: 5000, maxBytes: 64 * 1024 * 1024 });
  const stat = async (name: string): Promise<number> =>
    (await admin.readStats(`^${name.replaceAll('.', '\\.')}$`)).get(name) ?? 0;
  let ended: ExitInfo | undefined;
  void child.exited.then((exit) => (ended = exit)).catch(() => (ended = { status: null, signal: null }));
  const port = await waitFor(
    'Envoy to listen',
    () => {
      if (ended !== undefined) throw new Error(`Envoy ended: ${JSON.stringify(ended)}\n${child.stderr()}`);
      return listenerPort(admin);
    },
    20_000,
  );
  return {
    pid: child.pid,
    port,
    admin,
    stat,
    liveNames: () => stat('listener.tls.on_demand_secret.cert_active'),
    log: () => child.stderr(),
    stop: () => child.stop(),
    kill: () => {
      child.signal('SIGKILL');
      return child.exited;
    },
  };
}

type ListenersAnswer = {
  readonly listener_statuses?: readonly {
    readonly local_address?: { readonly socket_address?: { readonly port_value?: number } };
  }[];
};

async function listenerPort(admin: AdminClient): Promise<number | undefined> {
  try {
    const ready = await admin.get('/ready');
    if (ready.status !== 200) return undefined;
    const { body } = await admin.get('/listeners?format=json');
    const listeners = JSON.parse(body) as ListenersAnswer;
    return listeners.listener_statuses?.[0]?.local_address?.socket_address?.port_value;
  } catch {
    return undefined;
  }
}
