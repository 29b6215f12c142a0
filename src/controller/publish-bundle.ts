// Makes the ClusterTrustBundle of a gateway what it shall be, and says how that ended. What stands there is read again right
// before a write, so that a decision never rests on an old view, and gateways that want the same bundle come one after the
// other.
import type { EpochMs } from '../clock.ts';
import { kubeFailureOf } from '../kube/kube-failure.ts';
import type { KubeClient, KubeObject, KubeResource } from '../kube/kube-types.ts';
import { ownerStateOf, type KnownGateways, type OwnerState } from './bundle-claim.ts';
import { bundleOwner, isBundleOf } from './bundle-record.ts';
import type { BundleGateway } from './build-bundle.ts';
import { isNotLeading, type ClusterWrites } from './cluster-writes.ts';
import { decideBundle, type BundleDecision, type BundleIntent } from './decide-bundle.ts';
import type { Publication } from './judge-publication.ts';

export type PublishParts = {
  readonly client: Pick<KubeClient, 'get'>;
  readonly writes: ClusterWrites;
  readonly gateways: KnownGateways;
  readonly now: EpochMs;
};

export type PublishRequest = {
  readonly gateway: BundleGateway;
  readonly resource: KubeResource;
  /** as the follower knows it */
  readonly known: KubeObject | undefined;
  /** by what stands there: times in it are carried on */
  readonly intent: (existing: KubeObject | undefined) => BundleIntent;
};

export type Published = {
  readonly publication: Publication;
  /** under the gateway's name as it stands now, whosever it is */
  readonly bundle: KubeObject | undefined;
};

/** whoever writes at the same time is met once more, then the queue tries again */
const maxAttempts = 3;

export async function publishBundle(request: PublishRequest, parts: PublishParts): Promise<Published> {
  const { resource, gateway } = request;
  let existing = request.known;
  let decision = decide(request, existing, parts);
  for (let attempt = 1; isWrite(decision); attempt += 1) {
    try {
      existing = await parts.client.get({ resource, name: gateway.trustBundle.objectName });
      decision = decide(request, existing, parts);
      if (isWrite(decision)) return await carryOut(decision, request, parts.writes);
    } catch (thrown) {
      if (isNotLeading(thrown)) throw thrown;
      const failure = kubeFailureOf(thrown);
      const isRace = failure.kind === 'conflict' && attempt < maxAttempts;
      if (!isRace) return { publication: { kind: 'failed', failure }, bundle: existing };
    }
  }
  return { publication: publicationOf(decision, gateway, existing), bundle: existing };
}

type Write = Extract<BundleDecision, { kind: 'apply' | 'remove' }>;

function isWrite(decision: BundleDecision): decision is Write {
  return decision.kind === 'apply' || decision.kind === 'remove';
}

function decide(
  { gateway, intent }: PublishRequest,
  existing: KubeObject | undefined,
  { gateways, now }: PublishParts,
): BundleDecision {
  const ownerState = ownerStateFor(gateway, existing, gateways);
  return decideBundle({ gateway, intent: intent(existing), existing, ownerState, now });
}

function ownerStateFor(gateway: BundleGateway, existing: KubeObject | undefined, gateways: KnownGateways): OwnerState {
  const owner = existing && bundleOwner(existing);
  return owner === undefined ? 'gone' : ownerStateOf(owner, gateway.trustBundle.objectName, gateways);
}

async function carryOut(
  decision: Write,
  { resource, gateway }: PublishRequest,
  writes: ClusterWrites,
): Promise<Published> {
  if (decision.kind === 'remove') {
    const { uid, resourceVersion } = decision;
    await writes.removeBundle({ resource, name: gateway.trustBundle.objectName }, { uid, resourceVersion });
    return { publication: { kind: 'none' }, bundle: undefined };
  }
  const bundle = await writes.applyBundle(resource, decision.body);
  const { until } = decision;
  return { publication: { kind: 'stands', ...(until === undefined ? {} : { until }) }, bundle };
}

/** when nothing is to be written */
function publicationOf(
  decision: Exclude<BundleDecision, Write>,
  gateway: BundleGateway,
  bundle: KubeObject | undefined,
): Publication {
  switch (decision.kind) {
    case 'none':
      return { kind: bundle !== undefined && isBundleOf(gateway, bundle) ? 'stands' : 'none' };
    case 'wait':
      return { kind: 'stands', until: decision.until };
    case 'conflict':
    case 'foreign-signer':
      return decision;
    default:
      return decision satisfies never;
  }
}
