// Whose a Deployment is that several gateways of a namespace name: each would roll it for its own files, again and again. The
// one that was made first has it. Pure.
import { isRecord } from '../is-record.ts';
import type { KubeObject } from '../kube/kube-types.ts';

/** Name of the gateway that has the Deployment before `gateway` does; undefined: nobody. `all` are gateways of any namespace. */
export function earlierClaim(gateway: KubeObject, all: readonly KubeObject[]): string | undefined {
  const { namespace, uid } = gateway.metadata;
  const deployment = deploymentOf(gateway);
  const earlier = all.filter(
    (other) =>
      other.metadata.namespace === namespace &&
      other.metadata.uid !== uid &&
      deploymentOf(other) === deployment &&
      isBefore(other, gateway),
  );
  return earlier.toSorted((one, other) => (isBefore(one, other) ? -1 : 1))[0]?.metadata.name;
}

/** as the reader of specs has it, but for what a wrong spec says elsewhere */
function deploymentOf(gateway: KubeObject): string {
  const { spec } = gateway;
  const name = isRecord(spec) ? spec['deploymentName'] : undefined;
  return typeof name === 'string' ? name : gateway.metadata.name;
}

/** times are in whole seconds: the name decides within one */
function isBefore({ metadata: one }: KubeObject, { metadata: other }: KubeObject): boolean {
  const [at, otherAt] = [one.creationTimestamp ?? '', other.creationTimestamp ?? ''];
  return at === otherAt ? one.name < other.name : at < otherAt;
}
