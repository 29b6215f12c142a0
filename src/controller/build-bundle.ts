// Builds the ClusterTrustBundle of a gateway as it is to be applied: the same input gives the same bytes, and times move
// only with what they are about. Pure. Nothing but certificates and public names goes in.
import { epoch, type EpochMs } from '../clock.ts';
import { bundleContent } from '../kube/bundle-content.ts';
import type { BundleVersion } from '../kube/find-bundle-version.ts';
import type { KubeObject } from '../kube/kube-types.ts';
import type { EgressGatewayIdentity, TrustBundleSpec } from '../settings/egress-gateway-types.ts';
import { bundleText } from '../x509/bundle-text.ts';
import {
  bundleAnnotations,
  isBundleOf,
  readBundleRecord,
  readTime,
  writeActiveRecord,
  writeAnchorRecords,
  type ActiveRecord,
  type AnchorRecord,
} from './bundle-record.ts';
import { readBundleText } from './bundle-text.ts';
import type { PoolAnchor } from './judge-pool.ts';

/** what the bundle needs of a gateway: there also when the rest of its spec cannot be read */
export type BundleGateway = EgressGatewayIdentity & { readonly trustBundle: TrustBundleSpec };

export type BundleRequest = {
  readonly gateway: BundleGateway;
  /** at least one */
  readonly anchors: readonly PoolAnchor[];
  readonly activeId: string | undefined;
  readonly version: BundleVersion;
  /** as it stands in the API, whosever it is */
  readonly existing: KubeObject | undefined;
  readonly now: EpochMs;
};

export function buildBundle({ gateway, anchors, activeId, version, existing, now }: BundleRequest): KubeObject {
  const { signerName, objectName, labels } = gateway.trustBundle;
  const record = recordOf({ gateway, existing, now });
  const written = anchors
    .map(({ id, certificate: { sha256 } }) => {
      const publishedAt = record.anchors.find((known) => known.sha256 === sha256)?.publishedAt ?? now;
      return { id: id.toWellFormed(), sha256, publishedAt };
    })
    .toSorted((one, other) => (one.sha256 < other.sha256 ? -1 : 1));
  return {
    apiVersion: `certificates.k8s.io/${version}`,
    kind: 'ClusterTrustBundle',
    metadata: {
      name: objectName,
      labels,
      annotations: {
        ...ownershipOf(gateway),
        [bundleAnnotations.anchors]: writeAnchorRecords(written),
        [bundleAnnotations.active]: writeActiveRecord(activeRecord(activeId, record.active, now)),
        [bundleAnnotations.poolGoneSince]: '',
      },
    },
    spec: { signerName, trustBundle: bundleText(anchors.map(({ certificate }) => certificate)) },
  };
}

/** The bundle as it stands, said again as ours: content and times stay, what was added by hand goes, `poolGoneSince` is set. */
export function restateBundle(existing: KubeObject, gateway: BundleGateway, poolGoneSince: string): KubeObject {
  const { annotations = {}, name } = existing.metadata;
  return {
    apiVersion: existing.apiVersion,
    kind: existing.kind,
    metadata: {
      name,
      labels: gateway.trustBundle.labels,
      annotations: {
        ...ownershipOf(gateway),
        [bundleAnnotations.anchors]: annotations[bundleAnnotations.anchors] ?? '',
        [bundleAnnotations.active]: annotations[bundleAnnotations.active] ?? '',
        [bundleAnnotations.poolGoneSince]: poolGoneSince,
      },
    },
    spec: { signerName: gateway.trustBundle.signerName, trustBundle: recordedText(existing) },
  };
}

/** Without a pool to compare with, the digests of what was published tell what was added since; what was taken away is lost. */
function recordedText(existing: KubeObject): string {
  const { trustBundle } = bundleContent(existing);
  const recorded = readBundleRecord(existing).anchors.map(({ sha256 }) => sha256);
  const kept = readBundleText(trustBundle).filter(({ sha256 }) => recorded.includes(sha256));
  return kept.length === 0 ? trustBundle : bundleText(kept);
}

/** Labels and annotations of others count for nothing. */
export function isBundleAsBuilt(existing: KubeObject, built: KubeObject): boolean {
  const [is, shall] = [bundleContent(existing), bundleContent(built)];
  return (
    is.signerName === shall.signerName &&
    is.trustBundle === shall.trustBundle &&
    hasAll(existing.metadata.labels, built.metadata.labels) &&
    hasAll(existing.metadata.annotations, built.metadata.annotations)
  );
}

function hasAll(is: Readonly<Record<string, string>> = {}, shall: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(shall).every(([key, value]) => Object.hasOwn(is, key) && is[key] === value);
}

function ownershipOf({ namespace, name, uid, trustBundle }: BundleGateway): Readonly<Record<string, string>> {
  return {
    [bundleAnnotations.gateway]: `${namespace}/${name}`,
    [bundleAnnotations.gatewayUid]: uid,
    [bundleAnnotations.labels]: JSON.stringify(Object.keys(trustBundle.labels).toSorted()),
  };
}

type Times = { readonly anchors: readonly AnchorRecord[]; readonly active: ActiveRecord | undefined };

/**
 * What is known of the times: first from the bundle, then from the status. An anchor that stood in it under another owner
 * has been trusted since then; which CA was active is the gateway's own.
 */
function recordOf({ gateway, existing, now }: Pick<BundleRequest, 'gateway' | 'existing' | 'now'>): Times {
  const past = (at: EpochMs): EpochMs => epoch(Math.min(at, now));
  const written = existing === undefined ? undefined : readBundleRecord(existing);
  const isOwn = existing !== undefined && isBundleOf(gateway, existing);
  const told = statusTimes(gateway);
  const active = (isOwn ? written?.active : undefined) ?? told.active;
  return {
    anchors: [...(written?.anchors ?? []), ...told.anchors].map((anchor) => ({
      ...anchor,
      publishedAt: past(anchor.publishedAt),
    })),
    active: active === undefined ? undefined : { ...active, since: past(active.since) },
  };
}

function statusTimes({ status }: BundleGateway): Times {
  const since = readTime(status.pool?.activeSince);
  const anchors = status.bundle?.anchors ?? [];
  return {
    anchors: anchors.flatMap(({ id, sha256, publishedAt }) => {
      const at = readTime(publishedAt);
      return at === undefined ? [] : [{ id, sha256, publishedAt: at }];
    }),
    active: status.pool === undefined || since === undefined ? undefined : { id: status.pool.activeID, since },
  };
}

function activeRecord(
  activeId: string | undefined,
  known: ActiveRecord | undefined,
  now: EpochMs,
): ActiveRecord | undefined {
  if (activeId === undefined) return known;
  const id = activeId.toWellFormed();
  return known?.id === id ? known : { id, since: now };
}
