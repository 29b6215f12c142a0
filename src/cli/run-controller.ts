// The trust controller as a command: finds the cluster, makes sure of its rights there, runs until it is told to stop. It stops
// its work before it gives the Lease to another.
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { seconds } from '../clock.ts';
import { createCommonRoots } from '../controller/common-roots.ts';
import { prepareController } from '../controller/prepare-controller.ts';
import { releaseGateways } from '../controller/release-gateways.ts';
import { startController, type RunningController } from '../controller/start-controller.ts';
import { exitCodes } from '../errors.ts';
import type { ClusterAccess } from '../kube/cluster-access.ts';
import { createKubeClient } from '../kube/create-kube-client.ts';
import { findClusterAccess } from '../kube/find-cluster-access.ts';
import type { KubeClient } from '../kube/kube-types.ts';
import { createMetrics, type Metrics } from '../observe/create-metrics.ts';
import { startHealthServer, type Health } from '../observe/health-server.ts';
import type { Log } from '../observe/log.ts';
import { readSystemRoots } from '../projection/system-roots.ts';
import type { SettingSource } from '../settings/read-settings.ts';
import { closeAndTell, createClosers, type Closers } from './closers.ts';
import type { CommandContext } from './command-context.ts';
import { countLostLines } from './count-lost-lines.ts';
import { readControllerOptions, type ControllerSettings, type ControllerValues } from './controller-options.ts';
import { holdProcess } from './hold-process.ts';
import { signalHeard } from './stop-signals.ts';

/** a renewal of the Lease must have failed early enough to be tried again */
const leaseCallTimeoutMs = seconds(5);
/**
 * Node cuts small buffers from pieces of this size, 64 KiB by itself, and one such buffer keeps its whole piece: each watch that
 * waits for its next event had one, 5 MB with 50 gateways (measured on Node 24.22).
 */
const bufferPoolBytes = 8 * 1024;

export async function runController(
  values: ControllerValues,
  source: SettingSource,
  context: CommandContext,
): Promise<void> {
  const settings = readControllerOptions(values, source);
  Buffer.poolSize = bufferPoolBytes;
  const { io } = context;
  const log = context.createLog(settings.json);
  const closers = createClosers();
  const signals = signalHeard(io);
  closers.add('wait', holdProcess());
  try {
    const { kubeconfigFile } = settings;
    const access = await findClusterAccess({
      ...{ env: io.env, clock: io.clock, log },
      ...(kubeconfigFile === undefined ? {} : { kubeconfigFile }),
    });
    const client = createKubeClient({ access, clock: io.clock });
    closers.add('Kubernetes API', () => client.close());
    if (settings.isRelease) await release(settings, client, context);
    else {
      const work = serve({ settings, access, client, log, closers }, context);
      const signal = await Promise.race([signals.first, work]);
      if (signal !== undefined) log.info('stopping', { signal });
    }
  } finally {
    await closeAndTell(closers, log);
  }
}

type ServeParts = {
  readonly settings: ControllerSettings;
  readonly access: ClusterAccess;
  readonly client: KubeClient;
  readonly log: Log;
  readonly closers: Closers;
};

/** Never resolves once the controller runs; rejects when it cannot start. */
async function serve(
  { settings, access, client, log, closers }: ServeParts,
  { io }: CommandContext,
): Promise<undefined> {
  const metrics = createMetrics();
  countLostLines(metrics, io);
  const running: { controller?: RunningController } = {};
  await serveHealth(settings, { metrics, closers, controller: () => running.controller });
  const [firstNamespace = ''] = settings.namespaces;
  const namespace = settings.leaseNamespace ?? io.env['POD_NAMESPACE'] ?? access.namespace ?? firstNamespace;
  const lease = { namespace, name: settings.leaseName };
  const { clock } = io;
  const bundles = await prepareController({ ...settings, lease }, { client, clock, log, randomBytes });
  const leaseClient = createKubeClient({ access, clock, callTimeoutMs: leaseCallTimeoutMs });
  closers.add('Kubernetes API for the Lease', () => leaseClient.close());
  const started = startController({
    ...settings,
    ...{ client, leaseClient, clock, log, metrics, lease, bundles },
    random: Math.random,
    identity: `${io.env['POD_NAME'] ?? hostname()}_${randomBytes(4).toString('hex')}`,
    commonRoots: createCommonRoots((await readSystemRoots()).certificates),
  });
  running.controller = started;
  closers.add('controller', () => started.close());
  log.info('controller is running', {
    version: bundles?.version ?? 'none',
    object: `Lease ${namespace}/${lease.name}`,
  });
  return new Promise(() => undefined);
}

type HealthParts = {
  readonly metrics: Metrics;
  readonly closers: Closers;
  readonly controller: () => RunningController | undefined;
};

async function serveHealth({ health: listen }: ControllerSettings, parts: HealthParts): Promise<void> {
  if (listen === undefined) return;
  const { metrics, closers, controller } = parts;
  let isStopping = false;
  const fine: Health = { isOk: true, reasons: [] };
  const ready = (): Health => {
    if (isStopping) return { isOk: false, reasons: ['stopping'] };
    return controller()?.ready() ?? { isOk: false, reasons: ['the rights in the cluster are being looked at'] };
  };
  const health = await startHealthServer({ listen, metrics, live: () => controller()?.live() ?? fine, ready });
  closers.add('health', () => health.close());
  closers.add('readiness', () => void (isStopping = true));
}

async function release(
  { namespaces }: ControllerSettings,
  client: KubeClient,
  { io, finishWith, say }: CommandContext,
): Promise<void> {
  const releases = await releaseGateways(namespaces, client);
  for (const { namespace, name, outcome, error } of releases) {
    if (outcome === 'released') io.stdout(`${namespace}/${name}: let go\n`);
    else if (outcome === 'had-none') io.stdout(`${namespace}/${name}: nothing held it\n`);
    else if (error !== undefined)
      say(`leafgate: ${namespace}/${name}: ${error.message}; ${error.remedy} [${error.code}]`);
  }
  if (releases.length === 0) io.stdout(`no EgressGateway in ${namespaces.join(', ')}\n`);
  if (releases.some(({ outcome }) => outcome === 'failed')) finishWith(exitCodes.failed);
}
