// Where everything is in a gateway's pod: what the manifests mount, what the rendered files point to, and what the sidecar
// makes at its start. A test holds the shipped manifests to it.
import { join } from 'node:path';

/** an emptyDir in memory that Envoy and the sidecar share; the kubelet makes it writable for everybody */
const runDir = '/run/leafgate';
/** the sidecar makes it, 0700, before Envoy starts */
const privateDir = join(runDir, 'private');

export const podPaths = {
  /** the ConfigMap with the rendered files */
  gatewayDir: '/etc/leafgate/gateway',
  /** the pool Secret's key, in the sidecar only */
  poolFile: '/etc/leafgate/pool/pool',
  /** the serving Secret */
  servingDir: '/etc/leafgate/serving',
  /** a folder for each Secret with a certificate for origins, by the Secret's name */
  originCertificatesDir: '/etc/leafgate/origin-certificates',
  /** what Envoy shows to an SDS server outside of its pod */
  sdsClientDir: '/etc/leafgate/sds-client',
  /** what such a server shows */
  sdsServerDir: '/etc/leafgate/tls',
  sdsSocket: join(privateDir, 'sds.sock'),
  adminSocket: join(privateDir, 'admin.sock'),
  selfCheckSocket: join(privateDir, 'self-check.sock'),
  selfCheckCa: join(privateDir, 'self-check-ca.pem'),
  controlSocket: join(privateDir, 'control.sock'),
  /** an emptyDir that both share */
  accessLog: '/var/log/leafgate/access.json',
} as const;

/** Names of files in the ConfigMap beside those that the generator makes. */
export const podFiles = {
  originRoots: 'origin-roots.pem',
  clientRoots: 'client-roots.pem',
  policy: 'policy.yaml',
  sidecar: 'sidecar.yaml',
  /** of the pool, for the self-check of a pod without one */
  anchors: 'anchors.pem',
  sdsServer: 'sds-server.json',
  sdsClients: 'sds-clients.json',
} as const;

/** All rendered files together: a ConfigMap may have 1 MiB, and its owner, labels and field managers need room too. */
export const maxRenderedBytes = 900 * 1024;

/** of the SDS servers outside of the gateway's pods */
export const sdsPort = 8443;

/** their Deployment and their Service */
export function sdsNameOf(gateway: string): string {
  return `${gateway}-sds`;
}

/** ConfigMap with the rendered files of a gateway */
export function filesNameOf(gateway: string): string {
  return `${gateway}-envoy`;
}
