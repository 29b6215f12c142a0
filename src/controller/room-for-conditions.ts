// A status has room for so many conditions, and anybody who may write it can fill it: then the API server would refuse ours, and
// nobody would be told anything any more. Pure.
import type { KubeObject } from '../kube/kube-types.ts';
import { identityOf, parseEgressGateway } from '../settings/egress-gateway.ts';
import { maxConditions } from '../settings/egress-gateway-status.ts';
import type { EgressGatewayStatus } from '../settings/egress-gateway-types.ts';

/** A merge patch that takes the last conditions of others away, as many as are too many; undefined: all of them fit. */
export function roomPatch(standing: KubeObject, { conditions }: EgressGatewayStatus): object | undefined {
  const ours = new Set(conditions.map(({ type }) => type));
  const { status } = identityOf(parseEgressGateway(standing));
  const others = status.conditions.filter(({ type }) => !ours.has(type));
  const room = maxConditions - conditions.length;
  if (others.length <= room) return undefined;
  const kept = status.conditions.filter((one) => ours.has(one.type) || others.indexOf(one) < room);
  // the list is replaced whole: with the resourceVersion nothing that was written meanwhile can be lost
  const { resourceVersion } = standing.metadata;
  return { metadata: { resourceVersion }, status: { conditions: kept } };
}
