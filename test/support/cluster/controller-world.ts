// A namespace with the definition of EgressGateway and a signer domain of its own, and `leafgate controller` as a child process
// there under exactly the rights that it documents. What tests look at, they read as admin, by plain requests.
import { randomBytes } from 'node:crypto';
import { epoch, hours } from '../../../src/clock.ts';
import { createPool } from '../../../src/pool/create-pool.ts';
import { createAdminClient } from '../../../src/envoy/admin-client.ts';
import { mainScript } from '../gateway-under-test.ts';
import { readSample } from '../read-sample.ts';
import { startProcess, type ExitInfo, type StartedProcess } from '../run-command.ts';
import { scrubbedEnvironment } from '../scrubbed-environment.ts';
import { createTempFolder } from '../temp-folder.ts';
import { waitFor } from '../wait-for.ts';
import type { ControlPlane } from './control-plane.ts';
import { gatewaysIn, installDefinition } from './install-egress-gateways.ts';
import { apiAs, mustSucceed, type ApiAnswer, type ApiObject, type RawApi } from './raw-api.ts';
import { createNamespace, createServiceAccount, type AccountAccess, type AccountRules } from './service-account.ts';

export type ControllerWorld = {
  readonly plane: ControlPlane;
  readonly admin: RawApi;
  readonly namespace: string;
  readonly domain: string;
  readonly signerName: string;
  readonly account: AccountAccess;
  start(options?: StartOptions): Promise<ControllerUnderTest>;
  close(): Promise<void>;
};

type StartOptions = {
  readonly args?: readonly string[];
  readonly signers?: readonly string[];
  readonly account?: AccountAccess;
  /** not waited for: it stands by, or is to fail */
  readonly isLoose?: boolean;
};

export type ControllerUnderTest = {
  readonly process: StartedProcess;
  health(path: '/livez' | '/readyz' | '/metrics'): Promise<{ readonly status: number; readonly body: string }>;
  metric(sample: string): Promise<number>;
  stop(): Promise<ExitInfo>;
  kill(): Promise<ExitInfo>;
};

export async function createControllerWorld(
  plane: ControlPlane,
  rules: (namespace: string, domain: string) => AccountRules = documentedRules,
): Promise<ControllerWorld> {
  const admin = apiAs(plane, plane.user('admin'));
  await installDefinition(admin);
  const namespace = await createNamespace(plane, { prefix: 'egress' });
  const domain = `d${randomBytes(4).toString('hex')}.example.com`;
  const account = await createServiceAccount(plane, { namespace, name: 'controller' }, rules(namespace, domain));
  const started: ControllerUnderTest[] = [];
  const folder = createTempFolder();
  let count = 0;
  const start = async (options: StartOptions = {}): Promise<ControllerUnderTest> => {
    count += 1;
    const socket = folder.file(`health-${count}.sock`);
    const controller = startController({ namespace, domain, account, socket, home: folder.path, ...options });
    started.push(controller);
    if (options.isLoose !== true) await controller.process.waitForOutput(/controller is running/, 30_000);
    return controller;
  };
  return {
    ...{ plane, admin, namespace, domain, account, start },
    signerName: `${domain}/mitm`,
    close: async () => {
      await Promise.all(started.map((controller) => controller.kill()));
      admin.close();
      folder.remove();
    },
  };
}

/** Secrets and ConfigMaps by name in a cluster; here every one that a test may make */
export function documentedRules(namespace: string, domain: string): AccountRules {
  const rule = (group: string, resource: string, verbs: readonly string[], resourceNames?: readonly string[]) => ({
    ...{ apiGroups: [group], resources: [resource], verbs },
    ...(resourceNames === undefined ? {} : { resourceNames }),
  });
  return {
    namespaced: {
      [namespace]: [
        rule('leafgate.dev', 'egressgateways', ['get', 'list', 'watch', 'patch']),
        rule('leafgate.dev', 'egressgateways/status', ['patch']),
        rule('', 'secrets', ['list', 'watch'], ['pool', 'serving', 'client', 'other-pool']),
        rule('', 'configmaps', ['list', 'watch'], ['roots', 'client-roots']),
        rule('', 'configmaps', ['list', 'watch', 'create', 'patch'], ['gw-envoy', 'second-envoy']),
        rule('apps', 'deployments', ['get', 'patch'], ['gw', 'second']),
        rule('events.k8s.io', 'events', ['create', 'patch']),
        rule('coordination.k8s.io', 'leases', ['get', 'update'], ['leafgate-controller']),
        rule('coordination.k8s.io', 'leases', ['create']),
      ],
    },
    cluster: [
      rule('certificates.k8s.io', 'clustertrustbundles', ['get', 'list', 'watch', 'create', 'patch', 'delete']),
      rule('certificates.k8s.io', 'signers', ['attest'], [`${domain}/*`]),
    ],
  };
}

type ChildParts = StartOptions & {
  readonly namespace: string;
  readonly domain: string;
  readonly account: AccountAccess;
  readonly socket: string;
  readonly home: string;
};

function startController({
  namespace,
  domain,
  account,
  socket,
  home,
  signers,
  args = [],
}: ChildParts): ControllerUnderTest {
  const bounds = (signers ?? [`${namespace}=${domain}/*`]).flatMap((signer) => ['--signer', signer]);
  const child = startProcess(
    process.execPath,
    [
      ...[mainScript, 'controller', '--namespace', namespace, ...bounds],
      ...['--kubeconfig', account.kubeconfigFile, '--metrics', `unix:${socket}`, '--json', ...args],
    ],
    { env: scrubbedEnvironment(home) },
  );
  return {
    process: child,
    health: (path) => createAdminClient(socket).get(path),
    metric: (sample) => readSample(socket, sample),
    stop: () => child.stop(),
    kill: () => {
      child.signal('SIGKILL');
      return child.exited;
    },
  };
}

const bundlesPath = '/apis/certificates.k8s.io/v1/clustertrustbundles';

export function secretPath({ namespace }: ControllerWorld, name: string): string {
  return `/api/v1/namespaces/${namespace}/secrets/${name}`;
}

/** The least that a gateway says; `spec` is merged over it, member by member. */
function gatewayObject(world: ControllerWorld, name = 'gw', spec: ApiObject = {}): ApiObject {
  return {
    apiVersion: 'leafgate.dev/v1alpha1',
    kind: 'EgressGateway',
    metadata: { name, namespace: world.namespace },
    spec: {
      caPool: { secretName: 'pool' },
      trustBundle: { signerName: world.signerName, name, ...spec['trustBundle'] },
      policy: { default: 'deny', rules: [{ name: 'all', hosts: ['*.example.com'], verdict: 'intercept' }] },
      ...Object.fromEntries(Object.entries(spec).filter(([member]) => member !== 'trustBundle')),
    },
  };
}

export async function applyGateway(world: ControllerWorld, name = 'gw', spec: ApiObject = {}): Promise<ApiObject> {
  const path = `${gatewaysIn(world.namespace)}/${name}`;
  return mustSucceed(await world.admin.apply(path, gatewayObject(world, name, spec)));
}

export function bundlePath(world: ControllerWorld, name = 'gw'): string {
  return `${bundlesPath}/${world.domain}:mitm:${name}`;
}

export function newPool(keyKind?: 'Ed25519'): Uint8Array {
  const now = epoch(Date.now() - hours(2));
  return createPool({ now, randomBytes: (bytes) => randomBytes(bytes), ...(keyKind && { keyKind }) }).reveal();
}

export async function applyConfigMap(
  { admin, namespace }: ControllerWorld,
  name: string,
  data: Readonly<Record<string, string>>,
): Promise<void> {
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data };
  mustSucceed(await admin.apply(`/api/v1/namespaces/${namespace}/configmaps/${name}`, configMap));
}

/** of no pod that would run: nobody makes pods here; it mounts the files of the gateway of its name, unless told otherwise */
export async function applyDeployment(
  { admin, namespace }: ControllerWorld,
  name = 'gw',
  mounted = `${name}-envoy`,
): Promise<void> {
  const labels = { app: name };
  const volumes = [{ name: 'files', configMap: { name: mounted } }];
  const template = { metadata: { labels }, spec: { containers: [{ name: 'envoy', image: 'envoy' }], volumes } };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace }, spec };
  mustSucceed(await admin.apply(`/apis/apps/v1/namespaces/${namespace}/deployments/${name}`, deployment));
}

export async function applySecret(
  world: ControllerWorld,
  name: string,
  data: Readonly<Record<string, Uint8Array | string>>,
  type = 'Opaque',
): Promise<ApiObject> {
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  const metadata = { name, namespace: world.namespace };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type, data: Object.fromEntries(encoded) };
  return mustSucceed(await world.admin.apply(secretPath(world, name), secret));
}

export async function conditionOf(world: ControllerWorld, type: string, name = 'gw'): Promise<ApiObject | undefined> {
  const { body } = await world.admin.get(`${gatewaysIn(world.namespace)}/${name}`);
  return (body?.['status']?.conditions as readonly ApiObject[] | undefined)?.find((one) => one['type'] === type);
}

/** Waits until the condition has this reason, and gives it. */
export async function waitForReason(
  world: ControllerWorld,
  type: string,
  reason: string,
  { name = 'gw', deadlineMs = 20_000 }: { readonly name?: string; readonly deadlineMs?: number } = {},
): Promise<ApiObject> {
  let last: ApiObject | undefined;
  try {
    return await waitFor(
      `${type} to be ${reason}`,
      async () => {
        last = await conditionOf(world, type, name);
        return last?.['reason'] === reason ? last : undefined;
      },
      deadlineMs,
    );
  } catch (error) {
    throw new Error(`${String(error)}; it is ${JSON.stringify(last)}`, { cause: error });
  }
}

/** Waits until the bundle is there and `holds`. */
export async function waitForBundle(
  world: ControllerWorld,
  holds: (bundle: ApiObject) => boolean = () => true,
  { name = 'gw', deadlineMs = 20_000 }: { readonly name?: string; readonly deadlineMs?: number } = {},
): Promise<ApiObject> {
  return waitFor(
    'the bundle',
    async () => {
      const answer: ApiAnswer = await world.admin.get(bundlePath(world, name));
      return answer.status === 200 && answer.body !== undefined && holds(answer.body) ? answer.body : undefined;
    },
    deadlineMs,
  );
}

/** Another pool, whose anchor is awaited in the bundle; gives that bundle. */
export async function changePool(world: ControllerWorld, deadlineMs = 20_000): Promise<ApiObject> {
  const pool = newPool();
  await applySecret(world, 'pool', { pool });
  const { CAs } = JSON.parse(Buffer.from(pool).toString()) as { CAs: { RootCertificateDER: string }[] };
  const anchor = CAs[0]?.RootCertificateDER ?? '';
  const holds = (bundle: ApiObject): boolean =>
    (bundle['spec'].trustBundle as string).replaceAll('\n', '').includes(anchor);
  return waitForBundle(world, holds, { deadlineMs });
}
