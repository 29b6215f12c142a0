// The whole status of an EgressGateway, from what was judged and from the bundle as it stands: what the bundle says about
// itself is where times come from, so that a lost status is the same again after one look. Pure.
import type { EpochMs } from '../clock.ts';
import { printable } from '../errors.ts';
import { bundleContent } from '../kube/bundle-content.ts';
import type { KubeObject } from '../kube/kube-types.ts';
import type { AnchorStatus, EgressGatewayIdentity, EgressGatewayStatus } from '../settings/egress-gateway-types.ts';
import { isBundleOf, readBundleRecord, readTime, timeText, type BundleRecord } from './bundle-record.ts';
import { bundleDigest, readBundleText } from './bundle-text.ts';
import { conditionTypes } from './condition-table.ts';
import type { Judgements } from './controller-types.ts';
import { mergeConditions } from './merge-conditions.ts';

export type StatusRequest = {
  readonly gateway: EgressGatewayIdentity;
  readonly judgements: Judgements;
  /** under the gateway's name as it stands now, whosever it is */
  readonly bundle: KubeObject | undefined;
  /** of the pool, as it was judged */
  readonly activeId: string | undefined;
  /** undefined: the gateway speaks no TLS to its clients */
  readonly servingTls: { readonly secretName: string; readonly requiredDnsNames: readonly string[] } | undefined;
  readonly now: EpochMs;
};

export function gatewayStatus(request: StatusRequest): EgressGatewayStatus {
  const { gateway, judgements, servingTls, now } = request;
  const own = ownBundle(request);
  const record = own === undefined ? undefined : readBundleRecord(own);
  const pool = poolStatus(request, record);
  return {
    observedGeneration: gateway.generation,
    ...(own === undefined ? {} : { bundle: bundleStatus(own, record) }),
    ...(pool === undefined ? {} : { pool }),
    ...(servingTls === undefined
      ? {}
      : { servingTLS: { secretName: servingTls.secretName, requiredDNSNames: servingTls.requiredDnsNames } }),
    conditions: mergeConditions(gateway.status.conditions, judgements, { generation: gateway.generation, now }),
  };
}

/** Whether there is nothing to write: conditions that others have added are theirs. */
export function equalStatus(one: EgressGatewayStatus, other: EgressGatewayStatus): boolean {
  return canonical(ours(one)) === canonical(ours(other));
}

function ownBundle({ gateway, bundle }: StatusRequest): KubeObject | undefined {
  return bundle !== undefined && isBundleOf(gateway, bundle) ? bundle : undefined;
}

function bundleStatus(bundle: KubeObject, record: BundleRecord | undefined): EgressGatewayStatus['bundle'] & object {
  const { trustBundle } = bundleContent(bundle);
  const anchors = readBundleText(trustBundle).flatMap(({ sha256, subject, notAfter }): AnchorStatus[] => {
    const known = record?.anchors.find((anchor) => anchor.sha256 === sha256);
    // one that was added by hand, and goes again
    if (known === undefined) return [];
    const publishedAt = timeText(known.publishedAt);
    return [
      { id: known.id, subject: printable(subject).toWellFormed(), sha256, notAfter: timeText(notAfter), publishedAt },
    ];
  });
  return { objectName: bundle.metadata.name, sha256: bundleDigest(trustBundle), anchors };
}

function poolStatus(
  { gateway, activeId, now }: StatusRequest,
  record: BundleRecord | undefined,
): EgressGatewayStatus['pool'] {
  const { active } = record ?? {};
  const id = activeId?.toWellFormed() ?? active?.id;
  if (id === undefined) return undefined;
  if (active?.id === id) return { activeID: id, activeSince: timeText(active.since) };
  const before = gateway.status.pool;
  const isKnown = before?.activeID === id && readTime(before.activeSince) !== undefined;
  return { activeID: id, activeSince: isKnown ? before.activeSince : timeText(now) };
}

function ours({ conditions, ...rest }: EgressGatewayStatus): EgressGatewayStatus {
  const known = conditions.filter(({ type }) => conditionTypes.some((name) => name === type));
  return { ...rest, conditions: known.toSorted((one, other) => (one.type < other.type ? -1 : 1)) };
}

/** members in one order, absent ones left out */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  });
}
