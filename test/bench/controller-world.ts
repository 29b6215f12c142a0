// A control plane with the shipped definition, gateways with a pool each, `leafgate controller` as people run it, and a clock
// between a write and the event that it leads to.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { days, epoch } from '../../src/clock.ts';
import { filesNameOf } from '../../src/settings/pod-layout.ts';
import { createCa } from '../../src/x509/create-ca.ts';
import { encodeCertificatesPem } from '../../src/x509/pem.ts';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.ts';
import { gatewaysIn, installDefinition } from '../support/cluster/install-egress-gateways.ts';
import { apiAs, mustSucceed, type RawApi } from '../support/cluster/raw-api.ts';
import { watchAs, type RawWatch, type WatchEvent } from '../support/cluster/raw-watch.ts';
import { createNamespace, createServiceAccount, type AccountAccess } from '../support/cluster/service-account.ts';
import { gatewayObject } from '../support/egress-gateway-object.ts';
import { startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { shippedManifest } from '../support/shipped-manifests.ts';
import { waitFor, withDeadline } from '../support/wait-for.ts';

export type PoolContent = { readonly pem: string; readonly data: { readonly pool: string } };

export type ControllerWorld = {
  readonly plane: ControlPlane;
  readonly admin: RawApi;
  readonly namespace: string;
  readonly account: AccountAccess;
  stop(): Promise<void>;
};

export const bundlesPath = '/apis/certificates.k8s.io/v1/clustertrustbundles';
const signerDomain = 'bench.example';
const mainFile = join(import.meta.dirname, '..', '..', 'dist', 'main.js');
/** as the manifest starts it, on this machine's Node */
const [container] = shippedManifest('controller', 'Deployment').spec.template.spec.containers;
const nodeFlags = container?.command?.filter((word) => word.startsWith('--')) ?? [];
const environment = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));

export async function startControllerWorld(): Promise<ControllerWorld> {
  const plane = await startControlPlane();
  const admin = apiAs(plane, plane.user('admin'));
  await installDefinition(admin);
  const namespace = await createNamespace(plane, { prefix: 'bench' });
  // the rules are not what is measured
  const rules = { cluster: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] };
  const account = await createServiceAccount(plane, { namespace, name: 'controller' }, rules);
  return {
    ...{ plane, admin, namespace, account },
    stop: async () => {
      admin.close();
      await plane.stop();
    },
  };
}

/** a pool of one CA, as the Secret holds it, and what the bundle must then be */
export function makePool(id: string): PoolContent {
  const now = epoch(Date.now());
  const { certificate, privateKeyPkcs8 } = createCa({ now, lifetimeMs: days(300), randomBytes, organisation: id });
  const ca = {
    ID: id,
    SigningKeyPKCS8: Buffer.from(privateKeyPkcs8.reveal()).toString('base64'),
    RootCertificateDER: Buffer.from(certificate.der).toString('base64'),
  };
  const pool = JSON.stringify({ CAs: [ca], ActiveForSigning: id });
  return { pem: encodeCertificatesPem([certificate]), data: { pool: Buffer.from(pool).toString('base64') } };
}

export function secretPath({ namespace }: ControllerWorld, name: string): string {
  return `/api/v1/namespaces/${namespace}/secrets/${name}`;
}

export async function writePool(world: ControllerWorld, name: string, { data }: PoolContent): Promise<void> {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, data };
  mustSucceed(await world.admin.apply(secretPath(world, name), secret));
}

/** a gateway with its pool and its Deployment, of which nobody makes pods; the name of its bundle */
export async function addGateway(world: ControllerWorld, name: string): Promise<string> {
  await writePool(world, `${name}-pool`, makePool(`${name}-0`));
  const spec = {
    caPool: { secretName: `${name}-pool` },
    trustBundle: { signerName: `${signerDomain}/${world.namespace}`, name },
  };
  await addDeployment(world, name);
  const metadata = { name, namespace: world.namespace, uid: undefined, generation: undefined };
  mustSucceed(await world.admin.post(gatewaysIn(world.namespace), gatewayObject(spec, { metadata })));
  return `${signerDomain}:${world.namespace}:${name}`;
}

async function addDeployment({ admin, namespace }: ControllerWorld, name: string): Promise<void> {
  const labels = { app: name };
  // one that does not mount the gateway's files is left alone, and asked for again and again
  const volumes = [{ name: 'gateway', configMap: { name: filesNameOf(name) } }];
  const template = { metadata: { labels }, spec: { volumes, containers: [{ name: 'envoy', image: 'none' }] } };
  const spec = { replicas: 0, selector: { matchLabels: labels }, template };
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec };
  mustSucceed(await admin.post(`/apis/apps/v1/namespaces/${namespace}/deployments`, deployment));
}

export function startController(
  { plane, namespace, account }: ControllerWorld,
  more: readonly string[] = [],
): StartedProcess {
  const bounds = ['--namespace', namespace, '--signer', `${namespace}=${signerDomain}/*`];
  const args = [...nodeFlags, mainFile, 'controller', '--kubeconfig', account.kubeconfigFile, ...bounds, ...more];
  return startProcess(process.execPath, args, { env: { ...scrubbedEnvironment(plane.dir), ...environment } });
}

/** does nothing, with the same flags: what a Node process weighs */
export function startBareNode({ plane }: ControllerWorld): StartedProcess {
  const script = 'setInterval(() => undefined, 60_000); console.log("idle")';
  const args = [...nodeFlags, '--eval', script];
  return startProcess(process.execPath, args, { env: { ...scrubbedEnvironment(plane.dir), ...environment } });
}

export async function bundleIsPublished({ admin }: ControllerWorld, name: string): Promise<void> {
  await waitFor(`the bundle ${name}`, async () => (await admin.get(`${bundlesPath}/${name}`)).status === 200, 30_000);
}

export type Follower = {
  /** milliseconds from the begin of `write` to the event that `isIt` */
  timeOf(write: () => Promise<void>, isIt: (event: WatchEvent) => boolean): Promise<number>;
  close(): void;
};

/** Follows one object, by name. */
export async function followOne(
  { plane }: ControllerWorld,
  listPath: string,
  name: string,
  onEvent: (event: WatchEvent) => void = () => undefined,
): Promise<Follower> {
  let arrived: (event: WatchEvent) => void = () => undefined;
  const path = `${listPath}?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
  const watch: RawWatch = watchAs(plane, plane.user('admin'), path, (event) => {
    arrived(event);
    onEvent(event);
  });
  await watch.opened;
  return {
    timeOf: async (write, isIt) => {
      const seen = new Promise<WatchEvent>((resolve) => {
        arrived = (event) => {
          if (isIt(event)) resolve(event);
        };
      });
      const from = performance.now();
      await write();
      return (await withDeadline(`the event of ${name}`, seen, 30_000)).at - from;
    },
    close: () => watch.close(),
  };
}
