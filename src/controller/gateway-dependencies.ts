// Which objects a gateway depends on, by what they are for. Pure.
import type { KubeResource, ObjectPlace } from '../kube/kube-types.ts';
import type { EgressGateway } from '../settings/egress-gateway-types.ts';
import { filesNameOf } from '../settings/pod-layout.ts';
import { configMaps, secrets } from './watched-kinds.ts';

export type GatewayDependencies = {
  readonly pool: ObjectPlace;
  readonly serving: ObjectPlace | undefined;
  /** of the SDS server, where it speaks TCP and the spec names one */
  readonly sdsServer: ObjectPlace | undefined;
  /** of Envoy, for that server; the same one where the spec names no other */
  readonly sdsClient: ObjectPlace | undefined;
  readonly originCa: ObjectPlace | undefined;
  readonly clientCa: ObjectPlace | undefined;
  readonly clientCertificates: readonly ObjectPlace[];
  /** what is rendered for the gateway, so that hand edits are seen */
  readonly files: ObjectPlace;
  /** undefined while the API server serves no bundles */
  readonly bundle: ObjectPlace | undefined;
};

export function dependenciesOf(
  { namespace, name, spec }: EgressGateway,
  bundles: KubeResource | undefined,
): GatewayDependencies {
  const secret = (secretName: string): ObjectPlace => ({ resource: secrets, namespace, name: secretName });
  const configMap = (mapName: string): ObjectPlace => ({ resource: configMaps, namespace, name: mapName });
  const { servingTls, origins, clients, sds } = spec;
  const tls = sds.transport === 'TCP' && sds.tls?.enabled === true ? sds.tls : undefined;
  const server = tls?.secretName;
  const client = server === undefined ? undefined : (tls?.clientSecretName ?? server);
  const names = new Set(origins.clientCertificates.map(({ secretName }) => secretName));
  return {
    pool: secret(spec.caPool.secretName),
    serving: servingTls && secret(servingTls.secretName),
    sdsServer: server === undefined ? undefined : secret(server),
    sdsClient: client === undefined ? undefined : secret(client),
    originCa: origins.caBundle && configMap(origins.caBundle.name),
    clientCa: clients.caBundle && configMap(clients.caBundle.name),
    clientCertificates: [...names].map(secret),
    files: configMap(filesNameOf(name)),
    bundle: bundles && { resource: bundles, name: spec.trustBundle.objectName },
  };
}

/** each of them once */
export function placesOf(dependencies: GatewayDependencies): readonly ObjectPlace[] {
  const { clientCertificates, ...single } = dependencies;
  return [...Object.values(single), ...clientCertificates].filter((place) => place !== undefined);
}
