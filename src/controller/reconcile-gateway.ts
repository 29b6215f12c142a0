// One round over one gateway: look at what it depends on, judge it, make the bundle, the files and the status what they
// shall be. It starts from what stands in the cluster and keeps nothing of earlier rounds, so that it may run at any time.
import { millis, type Clock, type DurationMs, type EpochMs } from '../clock.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import type { KubeClient, KubeObject, KubeResource, ObjectPlace } from '../kube/kube-types.ts';
import type { Log } from '../observe/log.ts';
import { parseEgressGateway, type EgressGatewayReading } from '../settings/egress-gateway.ts';
import type { EgressGateway, EgressGatewayStatus } from '../settings/egress-gateway-types.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import type { BundleVersionWatch } from './bundle-version-watch.ts';
import { buildBundle, type BundleGateway } from './build-bundle.ts';
import type { KnownGateways } from './bundle-claim.ts';
import type { ClusterWrites } from './cluster-writes.ts';
import type { Judgements } from './controller-types.ts';
import { bundleIntent } from './decide-bundle.ts';
import type { FollowedObjects, Look } from './followed-objects.ts';
import { dependenciesOf, placesOf } from './gateway-dependencies.ts';
import { gatewayKey, type GatewayIndex } from './gateway-index.ts';
import { judgeGateway, type GatewayView } from './judge-gateway.ts';
import { judgePublication, type Publication } from './judge-publication.ts';
import { gatingConditions, judgeReady, type Obstacles } from './judge-ready.ts';
import { problemsOf, sayProblems } from './judge.ts';
import { letGoOfGateway } from './let-go-of-gateway.ts';
import { publishBundle, type Published } from './publish-bundle.ts';
import { unavailableDetail } from './read-observed.ts';
import { reportStatus } from './report-status.ts';
import { isSignerAllowed, type SignerBound } from './signer-bounds.ts';
import type { WorkOutcome } from './work-queue.ts';
import { writeFiles, type FilesOutcome } from './write-files.ts';

export type ReconcileParts = {
  readonly client: Pick<KubeClient, 'get'>;
  readonly writes: ClusterWrites;
  readonly events: EventRecorder;
  readonly gateways: GatewayIndex;
  readonly followed: FollowedObjects;
  readonly bundles: BundleVersionWatch;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly signers: readonly SignerBound[];
  readonly clusterDomain: string;
  readonly commonRoots: readonly Certificate[];
  readonly resyncMs: DurationMs;
  /** the status of a gateway as it stands after a round; undefined when it has gone */
  readonly seen: (key: string, status: EgressGatewayStatus | undefined) => void;
};

/** a Deployment is not followed, only asked for: while it is missing, this often */
const askForDeploymentMs = millis(15_000);

export async function reconcileGateway(key: string, parts: ReconcileParts): Promise<WorkOutcome> {
  const object = parts.gateways.get(key);
  if (object === undefined) {
    parts.followed.release(key);
    parts.seen(key, undefined);
    return { kind: 'done' };
  }
  const reading = parseEgressGateway(object);
  const identity = reading.kind === 'read' ? reading.gateway : reading;
  if (identity.isDeleting) {
    const trustBundle = reading.kind === 'read' ? reading.gateway.spec.trustBundle : reading.trustBundle;
    return letGoOfGateway({ key, object, identity, trustBundle }, { ...parts, known: knownGateways(parts) });
  }
  if (reading.kind === 'refused') return sayRefused(key, reading, parts);
  return lookAfter(key, { object, gateway: reading.gateway }, parts);
}

type Subject = { readonly object: KubeObject; readonly gateway: EgressGateway };

async function lookAfter(key: string, { object, gateway }: Subject, parts: ReconcileParts): Promise<WorkOutcome> {
  const { followed, bundles, clock, writes } = parts;
  const now = clock.now();
  const resource = bundles.current();
  const dependencies = dependenciesOf(gateway, resource);
  const places = placesOf(dependencies);
  followed.hold(key, places);
  const look = (place: ObjectPlace): Look => followed.look(place);
  // what is awaited tells of itself when it is there
  if (places.some((place) => look(place).kind === 'pending')) return { kind: 'done' };
  const isAllowed = isSignerAllowed(parts.signers, gateway.namespace, gateway.spec.trustBundle.signerName);
  await writes.setFinalizer(object, isAllowed && gateway.spec.trustBundle.deletionPolicy === 'Delete');
  const view = judgeGateway({ gateway, dependencies, look, now, ...parts });
  const published = await publish({ gateway, view, resource, look, isAllowed, now }, parts);
  const { publication } = published;
  const judgements = { ...view.judgements, TrustBundlePublished: judgePublished(publication, gateway, view) };
  const files = isAllowed
    ? await writeFiles(
        {
          ...{ gateway, view, place: dependencies.files, look: look(dependencies.files) },
          blocking: gatingConditions(judgements),
        },
        parts,
      )
    : outOfBounds(judgements);
  const ready = judgeReady(judgements, files.obstacles);
  const { servingTls } = gateway.spec;
  const status = await reportStatus(
    {
      gateway,
      judgements: { ...judgements, Ready: ready },
      bundle: published.bundle,
      activeId: view.pool.activeId,
      servingTls: servingTls && { ...servingTls, requiredDnsNames: view.requiredDnsNames ?? [] },
    },
    { ...parts, now: clock.now() },
  );
  parts.seen(key, status);
  return outcomeOf(publication, files, parts);
}

type Publishing = {
  readonly gateway: EgressGateway;
  readonly view: GatewayView;
  readonly resource: KubeResource | undefined;
  readonly look: (place: ObjectPlace) => Look;
  readonly isAllowed: boolean;
  readonly now: EpochMs;
};

async function publish(work: Publishing, parts: ReconcileParts): Promise<Published> {
  const { gateway, view, resource, look, isAllowed, now } = work;
  if (!isAllowed) return { publication: { kind: 'signer-not-allowed' }, bundle: undefined };
  if (resource === undefined) return { publication: { kind: 'not-served' }, bundle: undefined };
  const owner: BundleGateway = { ...gateway, trustBundle: gateway.spec.trustBundle };
  const place = { resource, name: owner.trustBundle.objectName };
  const known = look(place);
  if (known.kind === 'unavailable') {
    // the version may have gone with an upgrade of the API server
    if (known.failure.kind === 'not-found') parts.bundles.askSoon();
    const failure = { ...known.failure, message: unavailableDetail(known.failure, place) };
    return { publication: { kind: 'failed', failure }, bundle: undefined };
  }
  const { anchors, activeId } = view.pool;
  const version = versionOf(resource);
  return publishBundle(
    {
      ...{ gateway: owner, resource },
      known: known.kind === 'found' ? known.object : undefined,
      intent: (existing) =>
        bundleIntent(owner, view.pool, () =>
          buildBundle({ gateway: owner, anchors, activeId, version, existing, now }),
        ),
    },
    { ...parts, gateways: knownGateways(parts), now },
  );
}

function versionOf({ version }: KubeResource): 'v1' | 'v1beta1' | 'v1alpha1' {
  return version === 'v1beta1' || version === 'v1alpha1' ? version : 'v1';
}

function judgePublished(publication: Publication, { namespace, spec }: EgressGateway, { pool }: GatewayView) {
  const { objectName, signerName } = spec.trustBundle;
  return judgePublication(publication, { objectName, signerName, namespace, pool });
}

function outOfBounds({ TrustBundlePublished }: Judgements): FilesOutcome {
  const obstacles: Obstacles = { SignerNotAllowed: TrustBundlePublished?.message ?? '' };
  return { obstacles, isToRetry: false, isDeploymentMissing: false };
}

function outcomeOf(publication: Publication, files: FilesOutcome, parts: ReconcileParts): WorkOutcome {
  if (publication.kind === 'failed' || files.isToRetry) return { kind: 'retry' };
  const until = publication.kind === 'stands' ? publication.until : undefined;
  const resync = parts.resyncMs * (1 - parts.random() / 2);
  const waits = [
    resync,
    ...(until === undefined ? [] : [Math.max(0, until - parts.clock.now())]),
    ...(files.isDeploymentMissing ? [askForDeploymentMs] : []),
  ];
  return { kind: 'done', againAfterMs: millis(Math.min(...waits)) };
}

/** A spec that cannot be read is said; what was published and rendered by the last good one stays. */
async function sayRefused(
  key: string,
  reading: Extract<EgressGatewayReading, { kind: 'refused' }>,
  parts: ReconcileParts,
): Promise<WorkOutcome> {
  const { trustBundle, problems } = reading;
  const resource = parts.bundles.current();
  const place = trustBundle && resource && { resource, name: trustBundle.objectName };
  parts.followed.hold(key, place === undefined ? [] : [place]);
  const look = place && parts.followed.look(place);
  const judgements = { Ready: judgeReady({}, { InvalidSpec: sayProblems(problems.flatMap(problemsOf)) }) };
  const bundle = look?.kind === 'found' ? look.object : undefined;
  const status = await reportStatus(
    { gateway: reading, judgements, bundle, activeId: undefined, servingTls: undefined },
    { ...parts, now: parts.clock.now() },
  );
  parts.seen(key, status);
  return { kind: 'done', againAfterMs: parts.resyncMs };
}

function knownGateways({ gateways }: ReconcileParts): KnownGateways {
  return {
    isWatched: (namespace) => gateways.isFollowed(namespace),
    find: ({ namespace, name }) => {
      const object = gateways.get(gatewayKey(namespace, name));
      if (object === undefined) return undefined;
      const reading = parseEgressGateway(object);
      const trustBundle = reading.kind === 'read' ? reading.gateway.spec.trustBundle : reading.trustBundle;
      return { objectName: trustBundle?.objectName };
    },
  };
}
