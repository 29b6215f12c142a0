// What a Lease says, and what it becomes when it is taken, renewed or given back. Pure.
import { seconds } from '../clock.ts';
import type { DurationMs, EpochMs } from '../clock.ts';
import { isRecord } from '../is-record.ts';
import type { KubeObject, KubeResource, ObjectPlace } from './kube-types.ts';
import { microTime } from './micro-time.ts';

export const leases: KubeResource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  isNamespaced: true,
};

export type LeaseRecord = {
  /** '' when nobody holds it */
  readonly holder: string;
  readonly durationMs: DurationMs;
  /** equal texts: nobody has written it in between */
  readonly text: string;
};

type Claim = { readonly identity: string; readonly durationMs: DurationMs; readonly now: EpochMs };

/** no Lease lasts less (422 from the API server for 0, kubernetes/kubernetes#80954) */
const shortestSeconds = 1;
/** a slip in a Lease that nobody renews must not keep everybody from work for ever; any holder renews far more often */
const longestSeconds = 300;
/** an int32 to the API server */
const mostTransitions = 2 ** 31 - 1;

export function readLease(lease: KubeObject): LeaseRecord {
  const spec = specOf(lease);
  const { holderIdentity, leaseDurationSeconds } = spec;
  const count =
    typeof leaseDurationSeconds === 'number' && leaseDurationSeconds > 0 ? leaseDurationSeconds : shortestSeconds;
  return {
    holder: typeof holderIdentity === 'string' ? holderIdentity : '',
    durationMs: seconds(Math.min(count, longestSeconds)),
    text: JSON.stringify([
      holderIdentity,
      leaseDurationSeconds,
      spec['acquireTime'],
      spec['renewTime'],
      spec['leaseTransitions'],
    ]),
  };
}

export function newLease({ namespace, name }: ObjectPlace, claim: Claim): KubeObject {
  const { identity, durationMs, now } = claim;
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: leases.kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec: {
      holderIdentity: identity,
      leaseDurationSeconds: wholeSeconds(durationMs),
      acquireTime: microTime(now),
      renewTime: microTime(now),
      leaseTransitions: 0,
    },
  };
}

/** Renewed when it is ours already, else taken over. */
export function claimedLease(lease: KubeObject, { identity, durationMs, now }: Claim): KubeObject {
  const spec = specOf(lease);
  const isOurs = spec['holderIdentity'] === identity;
  const transitions = typeof spec['leaseTransitions'] === 'number' ? spec['leaseTransitions'] : 0;
  return {
    ...lease,
    spec: {
      ...spec,
      holderIdentity: identity,
      leaseDurationSeconds: wholeSeconds(durationMs),
      acquireTime: isOurs ? (spec['acquireTime'] ?? microTime(now)) : microTime(now),
      renewTime: microTime(now),
      leaseTransitions: isOurs ? transitions : transitions < mostTransitions ? transitions + 1 : 0,
    },
  };
}

export function releasedLease(lease: KubeObject, now: EpochMs): KubeObject {
  const times = { acquireTime: microTime(now), renewTime: microTime(now) };
  return { ...lease, spec: { ...specOf(lease), holderIdentity: '', leaseDurationSeconds: shortestSeconds, ...times } };
}

function specOf(lease: KubeObject): Readonly<Record<string, unknown>> {
  return isRecord(lease['spec']) ? lease['spec'] : {};
}

function wholeSeconds(durationMs: DurationMs): number {
  return Math.max(shortestSeconds, Math.ceil(durationMs / 1000));
}
