// A real control plane for a test: etcd and kube-apiserver on loopback, in a folder that goes with them. They end with stop(),
// or when the test process ends, however that ends. Nothing else of Kubernetes runs: no controller collects garbage, makes
// `default` ServiceAccounts or lets a namespace vanish.
import { freePort } from '../free-port.ts';
import { startProcess, type StartedProcess } from '../run-command.ts';
import { scrubbedEnvironment } from '../scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../temp-folder.ts';
import { findTool } from '../tools.ts';
import { waitFor } from '../wait-for.ts';
import { auditFlags, readRequestsOf, type ApiRequest } from './audit-log.ts';
import { writeClusterPki, type ClusterPki, type ClusterUser } from './cluster-pki.ts';
import { apiAs } from './raw-api.ts';

/** which versions of ClusterTrustBundle there are, as clusters of several ages and settings have it */
export type ServingMode = 'v1' | 'v1+v1beta1' | 'v1beta1' | 'v1beta1+v1alpha1' | 'none';

export type ControlPlaneOptions = {
  /** `name` or `name:group,group`, beside `admin` and `kubelet`, which are always there */
  readonly users?: readonly string[];
  readonly serving?: ServingMode;
  /** more flags of kube-apiserver; they win */
  readonly flags?: readonly string[];
};

export type RestartOptions = {
  /** the API server comes back with a certificate of a new authority, which then stands in `caFile` */
  readonly withNewCa?: boolean;
  /** what it serves from now on */
  readonly serving?: ServingMode;
};

export type ControlPlane = {
  readonly url: string;
  /** everything of it is in there */
  readonly dir: string;
  readonly etcdUrl: string;
  readonly caFile: string;
  readonly pids: { readonly etcd: number; readonly apiserver: number };
  user(name: string): ClusterUser;
  /** on the same etcd and port; `term` waits for open watches, up to a minute */
  restartApiServer(how?: 'kill' | 'term', options?: RestartOptions): Promise<void>;
  /** what this user (`system:serviceaccount:NS:NAME` for one) asked of the API server until now, oldest first */
  requestsOf(user: string): Promise<readonly ApiRequest[]>;
  /** what the API server wrote since its last start */
  log(): string;
  stop(): Promise<void>;
};

/** a start takes 3 to 6 s; a busy machine needs more */
const startDeadlineMs = 90_000;
/** that three ports are all taken from under us again and again does not happen by chance */
const attempts = 3;

const bundlesIn = (version: string): string => `certificates.k8s.io/${version}/clustertrustbundles`;
const betaFlags = '--feature-gates=ClusterTrustBundle=true,ClusterTrustBundleProjection=true';

/** one program serves them all, by emulating an older one */
const servingFlags: { readonly [mode in ServingMode]: readonly string[] } = {
  v1: [],
  'v1+v1beta1': [`--runtime-config=${bundlesIn('v1beta1')}=true`],
  v1beta1: ['--emulated-version=1.36', betaFlags, `--runtime-config=${bundlesIn('v1beta1')}=true`],
  'v1beta1+v1alpha1': [
    ...['--emulated-version=1.34', betaFlags],
    `--runtime-config=${bundlesIn('v1alpha1')}=true,${bundlesIn('v1beta1')}=true`,
  ],
  none: [`--runtime-config=${bundlesIn('v1')}=false`],
};

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  for (let attempt = 1; ; attempt += 1) {
    const folder = createTempFolder();
    const started: StartedProcess[] = [];
    try {
      return await startIn(folder, options, started);
    } catch (error) {
      await endAll(started);
      folder.remove();
      if (attempt === attempts || !/address already in use/.test(String(error))) throw error;
    }
  }
}

async function startIn(
  folder: TempFolder,
  options: ControlPlaneOptions,
  started: StartedProcess[],
): Promise<ControlPlane> {
  const [clientPort, peerPort, apiPort] = [await freePort(), await freePort(), await freePort()];
  const [url, etcdUrl] = [`https://127.0.0.1:${apiPort}`, `http://127.0.0.1:${clientPort}`];
  const pki = writeClusterPki(folder.file('pki'), url, options.users ?? []);
  const etcd = startServer(folder, 'etcd', etcdFlags(folder, etcdUrl, `http://127.0.0.1:${peerPort}`));
  started.push(etcd);
  let serving = options.serving ?? 'v1';
  const flagsNow = (): readonly string[] => [
    ...apiServerFlags(folder, etcdUrl, apiPort),
    ...pki.apiServerFlags,
    ...auditFlags(folder.path),
    ...servingFlags[serving],
    ...(options.flags ?? []),
  ];
  const startApiServer = async (): Promise<StartedProcess> => {
    const server = startServer(folder, 'kube-apiserver', flagsNow());
    started.push(server);
    await waitUntilReady(url, pki, [etcd, server]);
    return server;
  };
  let apiServer = await startApiServer();
  return {
    ...{ url, etcdUrl, dir: folder.path, caFile: pki.caFile },
    get pids() {
      return { etcd: etcd.pid, apiserver: apiServer.pid };
    },
    user: (name) => userOf(pki, name),
    restartApiServer: async (how = 'kill', { withNewCa = false, serving: next = serving } = {}) => {
      serving = next;
      apiServer.signal(how === 'kill' ? 'SIGKILL' : 'SIGTERM');
      await apiServer.exited;
      if (withNewCa) pki.renewServingCa();
      apiServer = await startApiServer();
    },
    requestsOf: async (user) => {
      const admin = apiAs({ url, caFile: pki.caFile }, userOf(pki, 'admin'));
      try {
        return await readRequestsOf(user, folder.path, admin);
      } finally {
        admin.close();
      }
    },
    log: () => apiServer.stderr(),
    stop: async () => {
      await endAll(started);
      folder.remove();
    },
  };
}

function userOf(pki: ClusterPki, name: string): ClusterUser {
  const found = pki.users.get(name);
  if (found === undefined) throw new Error(`no user ${name}; there are ${[...pki.users.keys()].join(', ')}`);
  return found;
}

function startServer(folder: TempFolder, name: 'etcd' | 'kube-apiserver', flags: readonly string[]): StartedProcess {
  const found = findTool(name);
  if (found.path === undefined) throw new Error(found.missing);
  return startProcess(found.path, flags, { env: scrubbedEnvironment(folder.path), cwd: folder.path });
}

function etcdFlags(folder: TempFolder, clientUrl: string, peerUrl: string): readonly string[] {
  return [
    ...['--name=test', `--data-dir=${folder.file('etcd')}`, '--unsafe-no-fsync', '--log-level=warn'],
    ...[`--listen-client-urls=${clientUrl}`, `--advertise-client-urls=${clientUrl}`],
    ...[
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=test=${peerUrl}`,
    ],
  ];
}

function apiServerFlags(folder: TempFolder, etcdUrl: string, port: number): readonly string[] {
  return [
    `--etcd-servers=${etcdUrl}`,
    // both addresses are stated: it does not start where it finds no default route otherwise
    ...['--bind-address=127.0.0.1', '--advertise-address=127.0.0.1', `--secure-port=${port}`],
    ...[`--cert-dir=${folder.file('certs')}`, '--service-cluster-ip-range=10.0.0.0/24'],
    ...['--authorization-mode=Node,RBAC', '--anonymous-auth=false'],
    '--service-account-issuer=https://kubernetes.default.svc',
    // nobody makes the `default` ServiceAccount that this plugin asks for, and nobody has endpoints
    ...['--disable-admission-plugins=ServiceAccount', '--endpoint-reconciler-type=none'],
  ];
}

/** `/readyz`, not `/healthz`: the built-in roles are made by a hook that only the first waits for */
async function waitUntilReady(url: string, pki: ClusterPki, servers: readonly StartedProcess[]): Promise<void> {
  let ended: StartedProcess | undefined;
  for (const server of servers) {
    void server.exited.then(() => (ended ??= server)).catch(() => (ended ??= server));
  }
  const api = apiAs({ url, caFile: pki.caFile }, userOf(pki, 'admin'));
  let last = '';
  const look = async (): Promise<boolean> => {
    if (ended !== undefined) throw new Error(`a server of the control plane ended: ${lastWords(ended)}`);
    try {
      const { status, text } = await api.get('/readyz');
      last = `${status} ${text}`;
      return status === 200;
    } catch (error) {
      last = String(error);
      return false;
    }
  };
  try {
    await waitFor('the API server to be ready', look, startDeadlineMs);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${last}\n${servers.map(lastWords).join('\n')}`, { cause: error });
  } finally {
    api.close();
  }
}

function lastWords(server: StartedProcess): string {
  return server.stderr().split('\n').slice(-40).join('\n');
}

/** killed, not asked: an API server waits a minute for open watches, and nothing of it is wanted any more */
async function endAll(servers: readonly StartedProcess[]): Promise<void> {
  for (const server of servers) server.signal('SIGKILL');
  await Promise.allSettled(servers.map((server) => server.exited));
}
