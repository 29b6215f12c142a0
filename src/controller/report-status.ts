// Writes what was seen of a gateway into its status, when it differs from what stands there now, and tells of transitions by
// events. What stands there is read again before, so that no time moves because a view was old.
import type { EpochMs } from '../clock.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import type { KubeClient } from '../kube/kube-types.ts';
import { groupVersionOf } from '../kube/object-path.ts';
import { identityOf, parseEgressGateway } from '../settings/egress-gateway.ts';
import type { EgressGatewayIdentity, EgressGatewayStatus } from '../settings/egress-gateway-types.ts';
import type { ClusterWrites } from './cluster-writes.ts';
import { conditionEvents } from './condition-events.ts';
import { equalStatus, gatewayStatus, type StatusRequest } from './gateway-status.ts';
import { egressGateways } from './watched-kinds.ts';

export type StatusReport = Omit<StatusRequest, 'now'>;

export type ReportParts = {
  readonly client: Pick<KubeClient, 'get'>;
  readonly writes: ClusterWrites;
  readonly events: EventRecorder;
  readonly now: EpochMs;
};

/** The status as it stands afterwards; undefined when the gateway has gone meanwhile. */
export async function reportStatus(report: StatusReport, parts: ReportParts): Promise<EgressGatewayStatus | undefined> {
  const { gateway } = report;
  const { now, client, writes, events } = parts;
  const planned = gatewayStatus({ ...report, now });
  if (equalStatus(planned, gateway.status)) return planned;
  const { namespace, name } = gateway;
  const object = await client.get({ resource: egressGateways, namespace, name });
  if (object === undefined || object.metadata.uid !== gateway.uid) return undefined;
  const { status: before } = identityOf(parseEgressGateway(object));
  const status = gatewayStatus({ ...report, gateway: { ...gateway, status: before }, now });
  if (equalStatus(status, before)) return status;
  await writes.applyStatus(gateway, status, object);
  for (const event of conditionEvents(before.conditions, status.conditions)) {
    events.record({ regarding: regarding(gateway), ...event });
  }
  return status;
}

export function regarding({ namespace, name, uid }: EgressGatewayIdentity) {
  return { apiVersion: groupVersionOf(egressGateways), kind: egressGateways.kind, namespace, name, uid };
}
