// What a ClusterTrustBundle says about itself in annotations: whose it is, and the times that matter, so that a lost status
// loses nothing. All of it is public. Reading is lenient: what somebody has bent is as good as absent. Pure.
import { epoch, type EpochMs } from '../clock.ts';
import { isRecord } from '../is-record.ts';
import type { KubeObject } from '../kube/kube-types.ts';
import type { ObjectName } from './controller-types.ts';

/** Each is always written, so that a comparison of values finds every edit, and server-side apply takes each back. */
export const bundleAnnotations = {
  gateway: 'leafgate.dev/gateway',
  gatewayUid: 'leafgate.dev/gateway-uid',
  anchors: 'leafgate.dev/anchors',
  active: 'leafgate.dev/active',
  /** empty while the pool is there */
  poolGoneSince: 'leafgate.dev/pool-gone-since',
  /** keys of the labels that we set: one that the spec drops has to be taken away */
  labels: 'leafgate.dev/labels',
} as const;

export type BundleOwner = ObjectName & { readonly uid: string };

export type AnchorRecord = { readonly id: string; readonly sha256: string; readonly publishedAt: EpochMs };

export type ActiveRecord = { readonly id: string; readonly since: EpochMs };

export type BundleRecord = {
  readonly anchors: readonly AnchorRecord[];
  readonly active: ActiveRecord | undefined;
};

/** undefined: nobody says that it is theirs */
export function bundleOwner({ metadata }: KubeObject): BundleOwner | undefined {
  const [namespace = '', name = '', ...more] = (metadata.annotations?.[bundleAnnotations.gateway] ?? '').split('/');
  if (namespace === '' || name === '' || more.length > 0) return undefined;
  return { namespace, name, uid: metadata.annotations?.[bundleAnnotations.gatewayUid] ?? '' };
}

/** A gateway of that namespace and name, also under another UID: two of them never live at a time. */
export function isBundleOf({ namespace, name }: ObjectName, bundle: KubeObject): boolean {
  const owner = bundleOwner(bundle);
  return owner?.namespace === namespace && owner.name === name;
}

export function readBundleRecord({ metadata }: KubeObject): BundleRecord {
  const list = parseJson(metadata.annotations?.[bundleAnnotations.anchors]);
  const active = readFields(parseJson(metadata.annotations?.[bundleAnnotations.active]), ['id', 'since']);
  const since = readTime(active?.['since']);
  return {
    anchors: Array.isArray(list) ? list.flatMap(readAnchorRecord) : [],
    active: active === undefined || since === undefined ? undefined : { id: active['id'] ?? '', since },
  };
}

export function readPoolGoneSince({ metadata }: KubeObject): EpochMs | undefined {
  return readTime(metadata.annotations?.[bundleAnnotations.poolGoneSince]);
}

export function writeAnchorRecords(anchors: readonly AnchorRecord[]): string {
  return JSON.stringify(
    anchors.map(({ id, sha256, publishedAt }) => ({ id, sha256, publishedAt: timeText(publishedAt) })),
  );
}

export function writeActiveRecord(active: ActiveRecord | undefined): string {
  return active === undefined ? '' : JSON.stringify({ id: active.id, since: timeText(active.since) });
}

/** RFC 3339 in whole seconds, as Kubernetes writes times */
export function timeText(at: EpochMs): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}

export function readTime(text: string | undefined): EpochMs | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : epoch(at);
}

function readAnchorRecord(value: unknown): readonly AnchorRecord[] {
  const fields = readFields(value, ['id', 'sha256', 'publishedAt']);
  const publishedAt = readTime(fields?.['publishedAt']);
  if (fields === undefined || publishedAt === undefined) return [];
  return [{ id: fields['id'] ?? '', sha256: fields['sha256'] ?? '', publishedAt }];
}

/** undefined unless each of the fields is a text */
function readFields(value: unknown, names: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (!isRecord(value)) return undefined;
  const texts = names.flatMap((name) => {
    const text = value[name];
    return typeof text === 'string' ? [[name, text] as const] : [];
  });
  return texts.length === names.length ? Object.fromEntries(texts) : undefined;
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined || text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
