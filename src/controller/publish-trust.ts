// Makes the ClusterTrustBundle of a gateway what its pool says, and says how it stands. Needs of a spec only the parts about
// trust, so that a mistake elsewhere in it holds no CA back.
import type { EpochMs } from '../clock.ts';
import type { BundleVersion } from '../kube/find-bundle-version.ts';
import type { KubeResource, ObjectPlace } from '../kube/kube-types.ts';
import type { BundleVersionWatch } from './bundle-version-watch.ts';
import { buildBundle, type BundleGateway } from './build-bundle.ts';
import type { ReasonOf } from './condition-table.ts';
import type { Judgement } from './controller-types.ts';
import { bundleIntent } from './decide-bundle.ts';
import type { Look } from './followed-objects.ts';
import type { PoolJudgement } from './judge-pool.ts';
import { judgePublication } from './judge-publication.ts';
import { publishBundle, type Published, type PublishParts, type PublishRequest } from './publish-bundle.ts';
import { unavailableDetail } from './read-observed.ts';
import type { TurnsByKey } from './turns-by-key.ts';

export type TrustWork = {
  readonly owner: BundleGateway;
  readonly pool: PoolJudgement;
  /** undefined: the API server serves none */
  readonly resource: KubeResource | undefined;
  readonly look: (place: ObjectPlace) => Look;
  /** whether the controller may publish under this signer for this namespace */
  readonly isAllowed: boolean;
  readonly now: EpochMs;
};

export type TrustParts = Omit<PublishParts, 'now'> & {
  readonly bundles: BundleVersionWatch;
  /** by the name of the bundle */
  readonly inTurn: TurnsByKey;
};

export type PublishedTrust = Published & { readonly judgement: Judgement<ReasonOf<'TrustBundlePublished'>> };

export async function publishTrust(work: TrustWork, parts: TrustParts): Promise<PublishedTrust> {
  const published = await publish(work, parts);
  const { namespace, trustBundle } = work.owner;
  const judgement = judgePublication(published.publication, { ...trustBundle, namespace, pool: work.pool });
  return { ...published, judgement };
}

async function publish(work: TrustWork, parts: TrustParts): Promise<Published> {
  const { owner, pool, resource, look, isAllowed, now } = work;
  if (!isAllowed) return { publication: { kind: 'signer-not-allowed' }, bundle: undefined };
  if (resource === undefined) return { publication: { kind: 'not-served' }, bundle: undefined };
  const place = { resource, name: owner.trustBundle.objectName };
  const known = look(place);
  if (known.kind === 'unavailable') {
    // the version may have gone with an upgrade of the API server
    if (known.failure.kind === 'not-found') parts.bundles.askSoon();
    const failure = { ...known.failure, message: unavailableDetail(known.failure, place) };
    return { publication: { kind: 'failed', failure }, bundle: undefined };
  }
  const { anchors, activeId } = pool;
  const version = versionOf(resource);
  const request: PublishRequest = {
    ...{ gateway: owner, resource },
    known: known.kind === 'found' ? known.object : undefined,
    intent: (existing) =>
      bundleIntent(owner, pool, () => buildBundle({ gateway: owner, anchors, activeId, version, existing, now })),
  };
  // of two gateways that want the same bundle at once, the second sees what the first has written
  return parts.inTurn(place.name, () => publishBundle(request, { ...parts, now }));
}

function versionOf({ version }: KubeResource): BundleVersion {
  return version === 'v1beta1' || version === 'v1alpha1' ? version : 'v1';
}
