// One round over one gateway: look at what it depends on, judge it, make the bundle, the files and the status what they
// shall be. It starts from what stands in the cluster, so that it may run at any time: what is remembered of earlier rounds only
// saves work.
import { millis } from '../clock.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import type { KubeClient, KubeObject, ObjectPlace } from '../kube/kube-types.ts';
import type { Log } from '../observe/log.ts';
import { identityOf, parseEgressGateway, trustBundleOf } from '../settings/egress-gateway.ts';
import type { EgressGateway, EgressGatewayStatus } from '../settings/egress-gateway-types.ts';
import type { BundleVersionWatch } from './bundle-version-watch.ts';
import type { KnownGateways } from './bundle-claim.ts';
import type { ClusterWrites } from './cluster-writes.ts';
import type { CommonRoots } from './common-roots.ts';
import type { Judgements } from './controller-types.ts';
import type { FollowedObjects, Look } from './followed-objects.ts';
import { earlierClaim } from './deployment-claim.ts';
import { dependenciesOf, placesOf } from './gateway-dependencies.ts';
import { gatewayKey, type GatewayIndex } from './gateway-index.ts';
import { judgeGateway } from './judge-gateway.ts';
import { gatingConditions, judgeReady, type Obstacles } from './judge-ready.ts';
import { keepTrust } from './keep-trust.ts';
import { letGoOfGateway } from './let-go-of-gateway.ts';
import { nextRound, type RoundTerms } from './next-round.ts';
import { publishTrust } from './publish-trust.ts';
import type { Render } from './remember-renderings.ts';
import { reportStatus } from './report-status.ts';
import { isSignerAllowed, type SignerBound } from './signer-bounds.ts';
import type { TurnsByKey } from './turns-by-key.ts';
import type { WorkOutcome } from './work-queue.ts';
import { writeFiles, type FilesOutcome } from './write-files.ts';

export type ReconcileParts = RoundTerms & {
  readonly client: Pick<KubeClient, 'get'>;
  readonly writes: ClusterWrites;
  readonly events: EventRecorder;
  readonly gateways: GatewayIndex;
  readonly followed: FollowedObjects;
  readonly bundles: BundleVersionWatch;
  readonly log: Log;
  readonly signers: readonly SignerBound[];
  readonly clusterDomain: string;
  readonly commonRoots: CommonRoots;
  /** by the name of the bundle */
  readonly inTurn: TurnsByKey;
  readonly render: Render;
  /** the status of a gateway as it stands after a round; undefined when it has gone */
  readonly seen: (key: string, status: EgressGatewayStatus | undefined) => void;
};

/** a Deployment is not followed, only asked for: while it is missing, or not the gateway's, this often */
const askForDeploymentMs = millis(15_000);

export async function reconcileGateway(key: string, parts: ReconcileParts): Promise<WorkOutcome> {
  const object = parts.gateways.get(key);
  if (object === undefined) {
    parts.followed.release(key);
    parts.seen(key, undefined);
    return { kind: 'gone' };
  }
  const reading = parseEgressGateway(object);
  const identity = identityOf(reading);
  if (identity.isDeleting) {
    const trustBundle = trustBundleOf(reading);
    return letGoOfGateway({ key, object, identity, trustBundle }, { ...parts, known: knownGateways(parts) });
  }
  if (reading.kind === 'refused') return keepTrust({ key, object, reading }, withKnown(parts));
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
  const owner = { ...gateway, trustBundle: gateway.spec.trustBundle };
  const published = await publishTrust({ owner, ...view, resource, look, isAllowed, now }, withKnown(parts));
  const judgements = { ...view.judgements, TrustBundlePublished: published.judgement };
  const files = isAllowed
    ? await writeFiles(
        {
          ...{ gateway, view, place: dependencies.files, look: look(dependencies.files) },
          blocking: gatingConditions(judgements),
          deploymentOwner: earlierClaim(object, allGateways(parts)),
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
  if (files.isToRetry) return { kind: 'retry' };
  const withinMs = files.awaitsDeployment ? askForDeploymentMs : undefined;
  return nextRound(published.publication, { withinMs, changesAt: view.changesAt }, parts);
}

function outOfBounds({ TrustBundlePublished }: Judgements): FilesOutcome {
  const obstacles: Obstacles = { SignerNotAllowed: TrustBundlePublished?.message ?? '' };
  return { obstacles, isToRetry: false, awaitsDeployment: false };
}

function allGateways({ gateways }: ReconcileParts): readonly KubeObject[] {
  return gateways.keys().flatMap((key) => gateways.get(key) ?? []);
}

function withKnown(parts: ReconcileParts): Omit<ReconcileParts, 'gateways'> & { readonly gateways: KnownGateways } {
  return { ...parts, gateways: knownGateways(parts) };
}

function knownGateways({ gateways }: ReconcileParts): KnownGateways {
  return {
    isWatched: (namespace) => gateways.isFollowed(namespace),
    find: ({ namespace, name }) => {
      const object = gateways.get(gatewayKey(namespace, name));
      if (object === undefined) return undefined;
      return { objectName: trustBundleOf(parseEgressGateway(object))?.objectName };
    },
  };
}
