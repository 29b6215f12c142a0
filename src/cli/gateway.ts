// One whole gateway: pool, minter and SDS server, the self-check's origin, trust files, Envoy, records. Started in
// that order, checked through the running Envoy, stopped in the reverse order. `up` and `run` differ only around it.
import type { DurationMs } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { activeConnections } from '../envoy/drain-listeners.ts';
import type { EnvoyProcess } from '../envoy/envoy-process.ts';
import type { Health } from '../observe/health-server.ts';
import type { Log } from '../observe/log.ts';
import type { AccessRecord } from '../observe/access-record.ts';
import { hostToTry } from '../policy/host-to-try.ts';
import { originRoots, ownCertificates } from '../pool/origin-roots.ts';
import type { Pool } from '../pool/pool-types.ts';
import type { TrustFiles } from '../projection/trust-files.ts';
import { trustFilePaths, writeTrustFiles } from '../projection/trust-files.ts';
import { readSystemRoots, type SystemRoots } from '../projection/system-roots.ts';
import { ownTrustRoot, refreshOwnTrust } from '../projection/write-own-trust.ts';
import { createTrustFile } from '../transport/trust-file.ts';
import type { ServerTrust } from '../transport/server-trust.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { cliErrors } from './cli-errors.ts';
import type { Surroundings } from './surroundings.ts';
import { checkOriginCas, writeEnvoyFiles, writeOriginRoots } from './envoy-files.ts';
import type { GatewayFolder } from './gateway-folder.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { gatewaySpecFor } from './gateway-spec-for.ts';
import { filesNeeded } from './open-files.ts';
import { enforceGatewayPolicy } from './gateway-policy.ts';
import { inTurn } from './in-turn.ts';
import { followMaterial, type FollowedMaterial } from './follow-material.ts';
import { bindListeners, checkFront, frontFacts } from './gateway-front.ts';
import { openMaterial, originCasIn, shownCredentials } from './gateway-material.ts';
import { createLiveOrigins, type LiveOrigins, type LiveOriginsParts } from './live-origins.ts';
import { createLivePolicy } from './live-policy.ts';
import type { PolicyInForce } from './policy-in-force.ts';
import { loadPolicy } from './policy-source.ts';
import { countRules } from './rule-counters.ts';
import { launchEnvoy, proxyUrlOf } from './launch-envoy.ts';
import type { FrontFacts } from './up-output.ts';
import { onSocket, startMinting, type Minting } from './minting.ts';
import { followRecords } from './gateway-records.ts';
import { startLimitWatch, type LimitWatch, type LimitWatchParts } from './limit-watch.ts';
import { sweepOwnTrust } from './own-trust-folders.ts';
import { watchRecordLosses } from './record-losses.ts';
import { runSelfCheck } from './self-check.ts';
import { startSelfCheckOrigin } from './self-check-origin.ts';

/** what `up` and `run` decide about a gateway */
export type GatewayChoices = {
  readonly options: GatewayOptions;
  readonly folder: GatewayFolder;
  readonly poolFile: string;
  /** told before whatever takes long */
  readonly progress: (sentence: string) => void;
  readonly onRecord: (record: AccessRecord) => void;
  /** settles when all records so far have left this process; false where they were put by */
  readonly recordsTaken: () => Promise<boolean>;
  /** how long open connections get on a stop; 0 stops at once */
  readonly drainMs: DurationMs;
};

export type GatewayParts = Surroundings &
  GatewayChoices & {
    readonly env: { readonly [name: string]: string | undefined };
    /** lines of stdout and stderr that nobody took */
    readonly outputLost: () => number;
    /** ends the start where it stands */
    readonly aborted: AbortSignal;
  };

export type Gateway = {
  readonly proxyUrl: string;
  readonly front: FrontFacts | undefined;
  readonly transparentPort: number | undefined;
  readonly trust: TrustFiles;
  readonly minting: Minting;
  readonly envoyPid: number;
  /** of clients, now */
  readonly openConnections: () => Promise<number>;
  readonly policy: () => PolicyInForce;
  /** one that the policy intercepts; undefined where none is known */
  readonly hostToTry: () => string | undefined;
  readonly readiness: () => Health;
  /** settles with what ended the gateway when nobody asked for it */
  readonly failed: Promise<LeafgateError>;
};

/** Resolves when the self-check has shown both halves of the pair. Whatever it started is in `closers`, also when it throws. */
export async function startGateway(parts: GatewayParts): Promise<Gateway> {
  const { options, folder, clock, closers } = parts;
  const loaded = await loadPolicy(options.policy);
  const asked = gatewaySpecFor(options, await bindListeners(options), folder, loaded.file);
  warnOfFewerConnections(asked.limits.maxConnections, parts);
  const live = createLivePolicy(loaded, parts);
  const system = await readSystemRoots();
  const known: { pool?: () => Pool } = {};
  const { originCaFiles } = options;
  const material = await openMaterial({ spec: asked, originCaFiles, clock, pool: () => known.pool?.() });
  const spec = { ...asked, originCredentials: shownCredentials(asked.originCredentials, material) };
  const publish = inTurn((pool: Pool) => publishTrust(pool, { system, given: originCasIn(material), parts }));
  const minting = await startMinting({
    ...parts,
    place: onSocket(folder.sdsSocket),
    quantities: options.quantities,
    allowEd25519: options.allowEd25519,
    mayMint: live.mayMint,
    onPool: (pool) => void publish(pool).catch((error: unknown) => reportPublishFailure(error, parts.log)),
  });
  known.pool = minting.pool;
  checkOriginCas(originCasIn(material), originCaFiles.join(', '), minting.pool());
  await publish(minting.pool());
  const origin = await startSelfCheckOrigin({ ...spec.selfCheck, clock });
  closers.add('self-check origin', () => origin.close());
  const { linesRead } = await followRecords({ ...parts, paths: spec.paths, keepBytes: options.quantities.keepRecords });
  const envoy = await launchEnvoy({ ...parts, spec, bootstrapPath: await writeEnvoyFiles(spec) });
  const { admin } = envoy;
  await checkFront(spec, { admin, clock, material });
  const given = { list: loaded.file.origins, opened: material, publishRoots: () => publish(minting.pool()) };
  const { followed, origins } = followCertificates({ ...parts, ...given, spec, admin });
  await enforceGatewayPolicy({ ...parts, loaded, live, spec, admin, origins, server: minting.server });
  countRules(spec.paths.adminSocket, live, parts.metrics);
  const losses = watchRecordLosses({ ...parts, admin, accessLog: spec.paths.accessLog, linesRead });
  const reached = watchLimits({ ...parts, admin });
  const proxyUrl = proxyUrlOf(spec.listen);
  const trust = trustFilePaths(folder.trustDir);
  const bundle = (): Promise<ServerTrust> => createTrustFile({ path: trust.caFile }).current();
  await runSelfCheck({ proxyUrl, bundle, system: system.certificates, own: ownCertificates(minting.pool()), ...parts });
  return {
    ...{ proxyUrl, front: frontFacts(spec, material), transparentPort: spec.transparent?.port, trust, minting },
    ...{ envoyPid: envoy.pid, openConnections: () => activeConnections(admin) },
    ...{ policy: live.inForce, hostToTry: () => hostToTry(live.current().policy) },
    readiness: () => {
      const more = [...live.reasons(), ...losses.reasons(), ...reached.reasons(), ...followed.troubles()];
      return withReasons(minting.readiness(), more);
    },
    failed: failureOf(envoy),
  };
}

function watchLimits(parts: LimitWatchParts & Pick<GatewayParts, 'closers'>): LimitWatch {
  const reached = startLimitWatch(parts);
  parts.closers.add('watch over limits', () => reached.close());
  return reached;
}

type CertificateParts = Omit<LiveOriginsParts, 'material'> &
  GatewayParts & { readonly publishRoots: () => Promise<void> };

function followCertificates(parts: CertificateParts): Readonly<{ followed: FollowedMaterial; origins: LiveOrigins }> {
  const followed = followMaterial({
    ...{ ...parts, material: parts.opened, reloadDir: parts.folder.reloadDir },
    publish: {
      'origin-ca': async () => {
        await parts.publishRoots();
        return true;
      },
      'origin-credential': () => origins.renew(),
    },
  });
  const origins = createLiveOrigins({ ...parts, material: followed });
  return { followed, origins };
}

function warnOfFewerConnections(possible: number, { options, log }: GatewayParts): void {
  const asked = options.quantities.maxConnections;
  if (possible >= asked) return;
  log.warn('the limit of open files allows fewer connections than --max-connections', {
    detail: `${possible} of ${asked}`,
    remedy: `raise it, for example with \`ulimit -n ${filesNeeded(asked)}\`, or give --max-connections ${possible}`,
  });
}

/** lost records, limits and refused files do not make a gateway unfit for work, but whoever asks is told */
function withReasons({ isOk, reasons }: Health, more: readonly string[]): Health {
  return { isOk, reasons: [...reasons, ...more] };
}

type TrustMaterial = {
  readonly system: SystemRoots;
  readonly given: readonly Certificate[];
  readonly parts: GatewayParts;
};

/** Writes what clients trust and what origins are verified with; Envoy follows the latter. */
async function publishTrust(pool: Pool, { system, given, parts }: TrustMaterial): Promise<void> {
  const { folder } = parts;
  await writeOriginRoots(folder.originRoots, originRoots([...system.certificates, ...given], ownCertificates(pool)));
  const anchors = pool.cas.map((ca) => ca.anchor);
  await writeTrustFiles({ dir: folder.trustDir, anchors, systemRoots: system.certificates });
  await sweepOwnTrust({ root: ownTrustRoot(folder.trustDir), clock: parts.clock });
  const failures = await refreshOwnTrust({ trustDir: folder.trustDir, anchors, systemRoots: system.certificates });
  for (const failure of failures) reportPublishFailure(failure, parts.log);
}

function reportPublishFailure(thrown: unknown, log: Log): void {
  const error = LeafgateError.from(thrown);
  log.error('the trust files were not rewritten: clients may not trust the new CA', {
    detail: error.message,
    code: error.code,
  });
}

async function failureOf(envoy: EnvoyProcess): Promise<LeafgateError> {
  const exit = await envoy.exited;
  if (exit.wasAsked) await new Promise<never>(() => undefined);
  return cliErrors.error('envoy-ended', { detail: exit.signal ?? `exit code ${exit.code ?? 'unknown'}` });
}
