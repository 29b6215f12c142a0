// The sidecar of a gateway's pod: it mints for the Envoy beside it, follows the policy that both of them read, shows the
// records, looks at the mounted certificates, tells the kubelet whether the gateway works, and drains Envoy when the pod ends.
// Envoy itself is the kubelet's to start and to stop, before or after us.
import { dirname, join } from 'node:path';
import { millis, seconds } from '../clock.ts';
import { createAdminClient, type AdminClient } from '../envoy/admin-client.ts';
import { drainListeners } from '../envoy/drain-listeners.ts';
import { readRunState } from '../envoy/running-envoy.ts';
import { makeFolder } from '../make-folder.ts';
import type { AccessRecord } from '../observe/access-record.ts';
import { createMetrics } from '../observe/create-metrics.ts';
import { formatRecordLine } from '../observe/format-record.ts';
import { startHealthServer, type Health } from '../observe/health-server.ts';
import { readSystemRoots } from '../projection/system-roots.ts';
import { ownCertificates } from '../pool/origin-roots.ts';
import type { SdsServer } from '../sds/sds-server.ts';
import { selfCheckHost } from '../settings/gateway-spec.ts';
import { maxRenderedBytes, podFiles } from '../settings/pod-layout.ts';
import type { SettingSource } from '../settings/read-settings.ts';
import { parseServerTrust, type ServerTrust } from '../transport/server-trust.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { parseCertificateBundle } from '../x509/pem.ts';
import { bundleText } from '../x509/bundle-text.ts';
import { attendEnvoy, type EnvoyWatch } from './attend-envoy.ts';
import { auditRemoteChannel } from './audit-remote-channel.ts';
import { closeAndTell, createClosers } from './closers.ts';
import type { CommandContext } from './command-context.ts';
import { countLostLines } from './count-lost-lines.ts';
import { serveControl } from './control-socket.ts';
import { followRecords, type FollowedRecords } from './gateway-records.ts';
import { proxyUrlOf } from './launch-envoy.ts';
import { objectNames, startLimitWatch } from './limit-watch.ts';
import { createLivePolicy, type LivePolicy } from './live-policy.ts';
import { onSocket, startMinting } from './minting.ts';
import { createPairedDrain, type PairedDrain } from './paired-drain.ts';
import { followPodMaterial } from './pod-material.ts';
import { readPodOptions, type PodOptions } from './pod-options.ts';
import { readGatewayFile } from './read-sidecar-file.ts';
import { enforcePodPolicy } from './pod-policy.ts';
import { loadPolicy } from './policy-source.ts';
import { watchRecordLosses } from './record-losses.ts';
import { countRules } from './rule-counters.ts';
import { runSelfCheck } from './self-check.ts';
import { startSelfCheckOrigin } from './self-check-origin.ts';
import { signalHeard } from './stop-signals.ts';
import type { Surroundings } from './surroundings.ts';

export type PodCall = {
  /** folder of the gateway's files */
  readonly dir: string;
  /** options that were given and that those files say */
  readonly alone: readonly string[];
};

export async function servePod({ dir, alone }: PodCall, source: SettingSource, context: CommandContext): Promise<void> {
  const options = await readPodOptions(dir, source, alone);
  const { io } = context;
  const log = context.createLog(options.json);
  const [closers, metrics] = [createClosers(), createMetrics()];
  countLostLines(metrics, io);
  const signals = signalHeard(io);
  const state: PodState = { isStopping: false, isDraining: false };
  try {
    await startPod({ options, context, clock: io.clock, log, metrics, closers }, state);
    const { remoteSds, sockets } = options.settings;
    log.info('the sidecar is ready', { path: remoteSds?.anchors ?? sockets.sds });
    log.info('stopping', { signal: await signals.first });
    state.isStopping = true;
  } finally {
    await closeAndTell(closers, log);
  }
}

type PodParts = Surroundings & { readonly options: PodOptions; readonly context: CommandContext };

type PodState = { isStopping: boolean; isDraining: boolean };

/** The kubelet starts Envoy once the health server listens: all that Envoy needs at its start is there by then. */
async function startPod(parts: PodParts, state: PodState): Promise<void> {
  const { options, closers } = parts;
  const { sockets } = options.settings;
  // what the kubelet makes for both containers is open to everybody in the pod
  makeFolder(dirname(sockets.sds), 0o700);
  const admin = createAdminClient(sockets.admin);
  const { signer, live } = await startSigner(parts, admin);
  const records = await followPodRecords(parts, admin);
  const material = followPodMaterial({ ...parts, settings: options.settings, admin });
  const { linesRead } = records;
  const losses = watchRecordLosses({ ...recordPlace(parts), admin, linesRead, outputLost: parts.context.io.linesLost });
  const reached = startLimitWatch({ ...parts, admin, named: objectNames });
  closers.add('watch over limits', () => reached.close());
  const drain = drainWith(parts, admin, state);
  const control = await serveControl(sockets.control, () => drain.announce());
  closers.add('control socket', () => control.close());
  const watch = await attend(parts, { admin, signer, records });
  const told = [live, losses, reached].map((one) => () => one.reasons());
  const { remoteSds } = options.settings;
  if (remoteSds !== undefined) told.push(auditRemoteChannel(remoteSds.channel, parts));
  await serveHealth(parts, { state, signer, watch, drain, told: [...told, () => material.troubles()] });
}

/** What makes leaves for this pod's Envoy. */
type Signer = {
  readonly server: Pick<SdsServer, 'reviewHeldNames'>;
  readonly readiness: () => Health;
  /** of the pool, now */
  readonly anchors: () => Promise<readonly Certificate[]>;
  /** all that is the gateway's own, now */
  readonly own: () => Promise<readonly Certificate[]>;
};

async function startSigner(
  parts: PodParts,
  admin: AdminClient,
): Promise<{ readonly signer: Signer; readonly live: LivePolicy }> {
  const { options, clock, closers, metrics } = parts;
  const { settings, dir } = options;
  const loaded = await loadPolicy({ kind: 'file', path: join(dir, podFiles.policy) });
  const live = createLivePolicy(loaded, parts);
  const signer = await signerOf(parts, live);
  const { selfCheck: socketPath } = settings.sockets;
  const origin = await startSelfCheckOrigin({ host: selfCheckHost, socketPath, caFile: settings.selfCheckCa, clock });
  closers.add('self-check origin', () => origin.close());
  const knowsActors = settings.clientRoots !== undefined;
  enforcePodPolicy({ ...parts, loaded, live, admin, server: signer.server, dir, knowsActors });
  countRules(settings.sockets.admin, live, metrics);
  return { signer, live };
}

async function signerOf(parts: PodParts, live: LivePolicy): Promise<Signer> {
  const { settings, quantities } = parts.options;
  const { pool, remoteSds } = settings;
  if (pool === undefined) return remoteSigner(remoteSds?.anchors ?? '');
  const minting = await startMinting({
    ...{ ...parts, quantities, mayMint: live.mayMint, onPool: () => undefined },
    ...{ poolFile: pool.file, isPoolMounted: true, place: onSocket(settings.sockets.sds) },
    allowEd25519: settings.allowEd25519,
  });
  return {
    ...{ server: minting.server, readiness: minting.readiness },
    anchors: () => Promise.resolve(minting.pool().cas.map((ca) => ca.anchor)),
    own: () => Promise.resolve(ownCertificates(minting.pool())),
  };
}

/** Leaves come from servers outside of the pod: whether they do is seen by the self-check, through Envoy. */
function remoteSigner(file: string): Signer {
  const anchors = async (): Promise<readonly Certificate[]> =>
    parseCertificateBundle(await readGatewayFile(file, maxRenderedBytes), file, 'anywhere');
  return {
    // their server reviews what it gave by the policy that it follows itself
    server: { reviewHeldNames: () => undefined },
    readiness: () => ({ isOk: true, reasons: [] }),
    ...{ anchors, own: anchors },
  };
}

async function followPodRecords(parts: PodParts, admin: AdminClient): Promise<FollowedRecords> {
  const { io } = parts.context;
  const { settings, quantities, json } = parts.options;
  const isEnvoyRunning = await readRunState(admin).then(
    () => true,
    () => false,
  );
  const print = (record: AccessRecord): string => (json ? JSON.stringify(record) : formatRecordLine(record));
  return followRecords({
    ...parts,
    paths: { accessLog: settings.accessLog, adminSocket: settings.sockets.admin },
    keepBytes: quantities.keepRecords,
    onRecord: (record) => io.stdout(`${print(record)}\n`),
    recordsTaken: async () => {
      await io.stdoutTaken();
      return true;
    },
    isEnvoyRunning,
  });
}

function recordPlace(parts: PodParts): PodParts & { readonly accessLog: string } {
  return { ...parts, accessLog: parts.options.settings.accessLog };
}

/** until every node has heard that this pod takes no more connections, some still come */
const leastDrain = seconds(5);

function drainWith({ options, clock, log }: PodParts, admin: AdminClient, state: PodState): PairedDrain {
  const { drainMs } = options.settings;
  return createPairedDrain({
    clock,
    drain: () => drainListeners({ admin, clock, drainMs, leastMs: millis(Math.min(leastDrain, drainMs)) }),
    begun: () => {
      state.isDraining = true;
      log.info('the pod ends: open connections are drained');
    },
  });
}

type Attended = { readonly admin: AdminClient; readonly signer: Signer; readonly records: FollowedRecords };

async function attend(parts: PodParts, { admin, signer, records }: Attended): Promise<EnvoyWatch> {
  const system = await readSystemRoots();
  const watch = attendEnvoy({
    ...parts,
    admin,
    ready: async () => {
      const [anchors, own] = await Promise.all([signer.anchors(), signer.own()]);
      const bundle = (): Promise<ServerTrust> =>
        Promise.resolve(parseServerTrust({ bundle: bundleText(anchors), source: 'the CA pool' }));
      const proxyUrl = proxyUrlOf(parts.options.settings.proxy);
      return runSelfCheck({ ...parts, proxyUrl, bundle, system: system.certificates, own });
    },
    ended: () => records.envoyEnded(),
  });
  parts.closers.add('watch over Envoy', () => watch.close());
  return watch;
}

type HealthParts = {
  readonly state: PodState;
  readonly signer: Signer;
  readonly watch: EnvoyWatch;
  readonly drain: PairedDrain;
  /** what to know although the gateway works */
  readonly told: readonly (() => readonly string[])[];
};

async function serveHealth({ options, metrics, closers }: PodParts, parts: HealthParts): Promise<void> {
  if (options.metrics === undefined) return;
  const health = await startHealthServer({
    listen: options.metrics,
    metrics,
    live: () => ({ isOk: true, reasons: [] }),
    ready: () => readiness(parts),
    drained: async () => {
      const outcome = await parts.drain.wait();
      return outcome === 'drained' ? { isOk: true, reasons: [] } : { isOk: false, reasons: [nobodyEnds] };
    },
  });
  closers.add('health', () => health.close());
}

const nobodyEnds = 'this pod does not end: its sidecar was not told so';

function readiness({ state, signer, watch, told }: HealthParts): Health {
  if (state.isStopping) return { isOk: false, reasons: ['stopping'] };
  if (state.isDraining) return { isOk: false, reasons: ['the pod ends: open connections are drained'] };
  const { isOk, reasons } = signer.readiness();
  const missing = watch.missing();
  return {
    isOk: isOk && missing === undefined,
    reasons: [...reasons, ...(missing === undefined ? [] : [missing]), ...told.flatMap((read) => read())],
  };
}
