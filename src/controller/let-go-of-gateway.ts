// A gateway that is being deleted takes its bundle along, or leaves it, as its spec says, and is then let go. Nothing may
// keep it for ever: a bundle that is another's, or that may not be touched, is left, and said so in an event.
import type { Clock } from '../clock.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import { kubeFailureOf } from '../kube/kube-failure.ts';
import type { KubeClient, KubeObject, KubeResource } from '../kube/kube-types.ts';
import type { Log } from '../observe/log.ts';
import type { EgressGatewayIdentity, EgressGatewayStatus, TrustBundleSpec } from '../settings/egress-gateway-types.ts';
import type { BundleVersionWatch } from './bundle-version-watch.ts';
import type { KnownGateways } from './bundle-claim.ts';
import type { ClusterWrites } from './cluster-writes.ts';
import { bundleFinalizer } from './field-managers.ts';
import type { FollowedObjects } from './followed-objects.ts';
import type { Publication } from './judge-publication.ts';
import { publishBundle } from './publish-bundle.ts';
import { regarding } from './report-status.ts';
import { isSignerAllowed, type SignerBound } from './signer-bounds.ts';
import type { WorkOutcome } from './work-queue.ts';

export type GoingGateway = {
  readonly key: string;
  readonly object: KubeObject;
  readonly identity: EgressGatewayIdentity;
  /** undefined where that part of the spec cannot be read */
  readonly trustBundle: TrustBundleSpec | undefined;
};

export type LetGoParts = {
  readonly client: Pick<KubeClient, 'get'>;
  readonly writes: ClusterWrites;
  readonly events: EventRecorder;
  readonly followed: FollowedObjects;
  readonly bundles: BundleVersionWatch;
  readonly known: KnownGateways;
  readonly clock: Clock;
  readonly log: Log;
  readonly signers: readonly SignerBound[];
  readonly seen: (key: string, status: EgressGatewayStatus | undefined) => void;
};

export async function letGoOfGateway(going: GoingGateway, parts: LetGoParts): Promise<WorkOutcome> {
  const { key, object, identity, trustBundle } = going;
  parts.followed.release(key);
  parts.seen(key, undefined);
  if (!identity.finalizers.includes(bundleFinalizer)) return { kind: 'done' };
  const left = trustBundle && (await withdraw(identity, trustBundle, parts));
  if (left?.kind === 'later') return { kind: 'retry' };
  if (left?.kind === 'left') {
    const note = `ClusterTrustBundle ${trustBundle?.objectName ?? ''} is left: ${left.why}`;
    parts.events.record({
      ...{ regarding: regarding(identity), type: 'Warning', reason: 'TrustBundleLeft', action: 'Delete' },
      note,
    });
    parts.log.warn('a deleted gateway leaves its bundle', { gateway: key, detail: left.why });
  }
  await parts.writes.setFinalizer(object, false);
  parts.log.info('gateway let go', { gateway: key });
  return { kind: 'done' };
}

type Withdrawal =
  { readonly kind: 'gone' } | { readonly kind: 'left'; readonly why: string } | { readonly kind: 'later' };

async function withdraw(
  identity: EgressGatewayIdentity,
  trustBundle: TrustBundleSpec,
  parts: LetGoParts,
): Promise<Withdrawal> {
  const resource = parts.bundles.current();
  if (trustBundle.deletionPolicy === 'Retain' || resource === undefined) return { kind: 'gone' };
  if (!isSignerAllowed(parts.signers, identity.namespace, trustBundle.signerName))
    return { kind: 'left', why: 'its signer is outside what the controller may publish under' };
  const publication = await remove(identity, { trustBundle, resource }, parts);
  switch (publication.kind) {
    case 'conflict':
      return { kind: 'left', why: `it belongs to ${publication.owner.namespace}/${publication.owner.name}` };
    case 'foreign-signer':
      return { kind: 'left', why: `its signer is ${publication.signerName}` };
    case 'failed':
      if (publication.failure.kind !== 'forbidden') return { kind: 'later' };
      return { kind: 'left', why: publication.failure.message };
    case 'stands':
    case 'none':
    case 'not-served':
    case 'signer-not-allowed':
      return { kind: 'gone' };
    default:
      return publication satisfies never;
  }
}

type Target = { readonly trustBundle: TrustBundleSpec; readonly resource: KubeResource };

/** what stands there is read, not taken from a view: after a restart there is none */
async function remove(
  identity: EgressGatewayIdentity,
  { trustBundle, resource }: Target,
  parts: LetGoParts,
): Promise<Publication> {
  try {
    const known = await parts.client.get({ resource, name: trustBundle.objectName });
    const request = {
      ...{ gateway: { ...identity, trustBundle }, resource, known },
      intent: () => ({ kind: 'withdraw' }) as const,
    };
    const { publication } = await publishBundle(request, { ...parts, gateways: parts.known, now: parts.clock.now() });
    return publication;
  } catch (thrown) {
    if (kubeFailureOf(thrown).kind === 'unavailable') throw thrown;
    return { kind: 'failed', failure: kubeFailureOf(thrown) };
  }
}
