// Whose the Deployment is that a gateway names. Several gateways of a namespace would roll it in turn, each for its own files:
// the one that was made first has it. One whose pods do not mount the files is none of a gateway's, and a name with a slip in
// it must not restart what somebody else runs. Pure.
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

/** Whether its pods have the ConfigMap in a volume, alone or among others. */
export function mountsConfigMap(deployment: KubeObject, configMapName: string): boolean {
  const volumes = membersAt(deployment, ['spec', 'template', 'spec', 'volumes']);
  const sources = [...volumes, ...volumes.flatMap((volume) => membersAt(volume, ['projected', 'sources']))];
  return sources.some((source) => valueAt(source, ['configMap', 'name']) === configMapName);
}

function membersAt(value: unknown, path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, path);
  return Array.isArray(found) ? found : [];
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((found, key) => (isRecord(found) ? found[key] : undefined), value);
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
