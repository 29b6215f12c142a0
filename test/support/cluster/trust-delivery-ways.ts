// The two ways in which an actor gets its trust files, with the commands and files that a deployment has: inside the pod, from a
// kubelet's own volume and without an API token, and by the agent of a node that reads the API. Each can be killed and started
// again on the same folders.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAdminClient } from '../../../src/envoy/admin-client.ts';
import { mainScript } from '../gateway-under-test.ts';
import { runCommand, startProcess, type StartedProcess } from '../run-command.ts';
import { scrubbedEnvironment } from '../scrubbed-environment.ts';
import { waitFor } from '../wait-for.ts';
import type { ControllerWorld } from './controller-world.ts';
import { startKubeletVolume } from './ctb-oracle.ts';
import { createServiceAccount } from './service-account.ts';

export type TrustDelivery = {
  /** the folder that an actor sees, read-only */
  readonly trustDir: string;
  /** resolves when the files of the start are there */
  start(): Promise<void>;
  /** kill -9 of the projector; what it gets its bundles from goes on */
  kill(): Promise<void>;
  close(): Promise<void>;
};

export type DeliveryRequest = {
  readonly world: ControllerWorld;
  readonly matchLabels: Readonly<Record<string, string>>;
  /** a new folder of its own */
  readonly folder: string;
  /** a root file system that has the roots of the system */
  readonly rootsFrom: string;
};

/** the names that `leafgate env --dir` tells an actor to read */
const volume = {
  dataSources: [
    { trustBundle: { name: 'egress', path: 'ca.pem' } },
    { trustBundle: { names: ['egress', 'system-roots'], path: 'ca-and-system.pem' } },
    { trustBundle: { names: ['egress', 'system-roots'], path: 'ca-and-system.p12', form: 'PKCS12' } },
  ],
};

/** far above what a start takes on a busy machine */
const startDeadlineMs = 60_000;

export function deliverInPod({ world, matchLabels, folder, rootsFrom }: DeliveryRequest): TrustDelivery {
  const source = join(folder, 'source');
  const files = { folder: source, file: 'ca.pem' };
  mkdirSync(source, { recursive: true });
  const kubelet = startKubeletVolume(world.plane, {
    ...files,
    select: { signerName: world.signerName, labelSelector: { matchLabels } },
  });
  const write = writer(folder, { egress: { file: join(source, files.file) }, 'system-roots': { systemRoots: {} } });
  const asked = ['--volume', write('volume.yaml', volume), '--dir', join(folder, 'trust'), '--roots-from', rootsFrom];
  const projector = createProjector(folder, asked);
  return {
    trustDir: join(folder, 'trust'),
    ...projector,
    start: async () => {
      // the kubelet starts no container before its volumes are there
      await waitFor('the volume of the kubelet', () => kubelet.seen().at(-1)?.ok, startDeadlineMs);
      await projector.once();
      await projector.start();
    },
    close: async () => {
      await projector.close();
      await kubelet.stop();
    },
  };
}

export async function deliverByAgent(request: DeliveryRequest): Promise<TrustDelivery> {
  const { world, matchLabels, folder, rootsFrom } = request;
  const { namespace, signerName, plane } = world;
  const rule = {
    apiGroups: ['certificates.k8s.io'],
    resources: ['clustertrustbundles'],
    verbs: ['list', 'watch'],
  };
  const account = await createServiceAccount(plane, { namespace, name: 'agent' }, { cluster: [rule] });
  const actors = join(folder, 'actors');
  mkdirSync(actors, { recursive: true });
  const bundle = { clusterTrustBundle: { signerName, matchLabels } };
  writer(folder, { egress: bundle, 'system-roots': { systemRoots: {} } })('actors/web.yaml', volume);
  const out = ['--actors', actors, '--dir', join(folder, 'trust'), '--roots-from', rootsFrom];
  const projector = createProjector(folder, [...out, '--kubeconfig', account.kubeconfigFile]);
  return { trustDir: join(folder, 'trust', 'web'), ...projector };
}

type Write = (name: string, content: object) => string;

/** Writes the list of bundles, and gives what writes the rest. */
function writer(folder: string, bundles: Readonly<Record<string, object>>): Write {
  const write: Write = (name, content) => {
    writeFileSync(join(folder, name), JSON.stringify(content));
    return join(folder, name);
  };
  write('bundles.yaml', { bundles });
  return write;
}

type Projector = Pick<TrustDelivery, 'start' | 'kill' | 'close'> & { once(): Promise<void> };

function createProjector(folder: string, asked: readonly string[]): Projector {
  const home = join(folder, 'home');
  mkdirSync(home);
  const socket = join(folder, 'health.sock');
  const args = [mainScript, 'project', '--bundles', join(folder, 'bundles.yaml'), ...asked];
  // no KUBECONFIG, no home with one, no service account: nothing of the API but what `asked` names
  const env = scrubbedEnvironment(home);
  let running: StartedProcess | undefined;
  const kill = async (): Promise<void> => {
    running?.signal('SIGKILL');
    await running?.exited;
  };
  return {
    once: async () => {
      const { status, stderr } = await runCommand(process.execPath, [...args, '--once'], { env });
      if (status !== 0) throw new Error(`the init container ended with ${status}: ${stderr}`);
    },
    start: async () => {
      const child = startProcess(process.execPath, [...args, '--metrics', `unix:${socket}`, '--json'], { env });
      running = child;
      const isReady = async (): Promise<boolean> => (await createAdminClient(socket).get('/readyz')).status === 200;
      await waitFor('the trust files', () => isReady().catch(() => false), startDeadlineMs).catch((error: unknown) => {
        throw new Error(child.stderr(), { cause: error });
      });
    },
    kill,
    close: kill,
  };
}
