// Decides what is to be done about the ClusterTrustBundle of a gateway, from what stands there and what shall. One owner at
// a time, no delete of what is another's, no empty bundle, no write when nothing has changed. Pure.
import { plus, type EpochMs } from '../clock.ts';
import { bundleContent } from '../kube/bundle-content.ts';
import type { KubeObject } from '../kube/kube-types.ts';
import { isBundleAsBuilt, restateBundle, type BundleGateway } from './build-bundle.ts';
import { claimBundle, type OwnerState } from './bundle-claim.ts';
import { readPoolGoneSince, timeText } from './bundle-record.ts';
import type { ObjectName } from './controller-types.ts';
import type { PoolJudgement } from './judge-pool.ts';

export type BundleIntent =
  | { readonly kind: 'publish'; readonly bundle: KubeObject }
  /** the pool is there and cannot be published: the last good bundle stays */
  | { readonly kind: 'keep' }
  /** whether there is a pool is not known: nothing is touched */
  | { readonly kind: 'wait-for-pool' }
  /** there is no pool: withdrawn when it has been gone for `retainFor` */
  | { readonly kind: 'pool-gone' }
  /** the gateway is being deleted and takes it along, or leaves it to a gateway that comes after it */
  | { readonly kind: 'withdraw' }
  | { readonly kind: 'leave' };

export type BundleQuestion = {
  readonly gateway: BundleGateway;
  readonly intent: BundleIntent;
  readonly existing: KubeObject | undefined;
  /** of the gateway that the bundle names, when that is another; ownerStateOf tells */
  readonly ownerState: OwnerState;
  readonly now: EpochMs;
};

export type BundleDecision =
  | { readonly kind: 'none' }
  /** `until`: look again then */
  | { readonly kind: 'apply'; readonly body: KubeObject; readonly until?: EpochMs }
  /** both as preconditions: what has changed since is judged anew */
  | { readonly kind: 'remove'; readonly uid: string; readonly resourceVersion: string }
  | { readonly kind: 'conflict'; readonly owner: ObjectName; readonly isCertain: boolean }
  /** cannot be by the API's rule of names; never touched */
  | { readonly kind: 'foreign-signer'; readonly signerName: string }
  | { readonly kind: 'wait'; readonly until: EpochMs };

const none = { kind: 'none' } as const;

export function bundleIntent(gateway: BundleGateway, pool: PoolJudgement, build: () => KubeObject): BundleIntent {
  if (gateway.isDeleting) return { kind: gateway.trustBundle.deletionPolicy === 'Delete' ? 'withdraw' : 'leave' };
  if (pool.isPublishable && pool.anchors.length > 0) return { kind: 'publish', bundle: build() };
  switch (pool.judgement.reason) {
    case 'NotFound':
      return { kind: 'pool-gone' };
    case 'Unavailable':
      return { kind: 'wait-for-pool' };
    default:
      return { kind: 'keep' };
  }
}

export function decideBundle(question: BundleQuestion): BundleDecision {
  const { gateway, intent, existing, ownerState } = question;
  if (existing === undefined) return intent.kind === 'publish' ? { kind: 'apply', body: intent.bundle } : none;
  const { signerName } = bundleContent(existing);
  if (signerName !== gateway.trustBundle.signerName) return { kind: 'foreign-signer', signerName };
  const claim = claimBundle(existing, gateway, ownerState);
  switch (claim.kind) {
    case 'other':
      return { kind: 'conflict', owner: claim.owner, isCertain: claim.isCertain };
    case 'nobody':
      return takeOver(intent, existing);
    case 'ours':
      return continueOurs(question, existing);
    default:
      return claim satisfies never;
  }
}

/** What nobody answers for is replaced or removed, and gets no time of grace: no pool of ours was ever behind it. */
function takeOver(intent: BundleIntent, existing: KubeObject): BundleDecision {
  switch (intent.kind) {
    case 'publish':
      return { kind: 'apply', body: onlyIfUnchanged(intent.bundle, existing) };
    case 'pool-gone':
    case 'withdraw':
      return remove(existing);
    case 'keep':
    case 'wait-for-pool':
    case 'leave':
      return none;
    default:
      return intent satisfies never;
  }
}

function continueOurs({ gateway, intent, now }: BundleQuestion, existing: KubeObject): BundleDecision {
  switch (intent.kind) {
    case 'publish':
      return isBundleAsBuilt(existing, intent.bundle) ? none : { kind: 'apply', body: intent.bundle };
    case 'keep':
      return restate(existing, gateway, '');
    case 'pool-gone':
      return awaitPool(existing, gateway, now);
    case 'withdraw':
      return remove(existing);
    // the annotations stay as they are: a gateway of the same name is the same owner, and another finds this one gone
    case 'leave':
    case 'wait-for-pool':
      return none;
    default:
      return intent satisfies never;
  }
}

function awaitPool(existing: KubeObject, gateway: BundleGateway, now: EpochMs): BundleDecision {
  const { retainForMs } = gateway.trustBundle;
  const known = readPoolGoneSince(existing);
  // one in the future was written by a clock that was wrong, or by somebody who wants the bundle to stay for ever
  const since = known === undefined || known > now ? now : known;
  const until = plus(since, retainForMs);
  if (until <= now) return remove(existing);
  const decision = restate(existing, gateway, timeText(since));
  return decision.kind === 'apply' ? { ...decision, until } : { kind: 'wait', until };
}

function restate(existing: KubeObject, gateway: BundleGateway, poolGoneSince: string): BundleDecision {
  const body = restateBundle(existing, gateway, poolGoneSince);
  const isEmpty = bundleContent(body).trustBundle === '';
  if (isEmpty || isBundleAsBuilt(existing, body)) return none;
  return { kind: 'apply', body: onlyIfUnchanged(body, existing) };
}

/** server-side apply refuses a body whose resourceVersion is not the current one: nobody's work is lost in between */
function onlyIfUnchanged(body: KubeObject, { metadata }: KubeObject): KubeObject {
  const { resourceVersion } = metadata;
  return resourceVersion === undefined ? body : { ...body, metadata: { ...body.metadata, resourceVersion } };
}

function remove({ metadata }: KubeObject): BundleDecision {
  const { uid, resourceVersion, deletionTimestamp } = metadata;
  if (uid === undefined || resourceVersion === undefined || deletionTimestamp !== undefined) return none;
  return { kind: 'remove', uid, resourceVersion };
}
