// From an EgressGateway and the roots that were judged for it to the ConfigMap that its pods mount: Envoy's files, the policy
// and the settings of the sidecar. Pure: the same input gives the same bytes. Nothing in it is secret: keys stay in their
// Secrets, and the files only point to where those are mounted.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { compactFiles } from '../bootstrap/compact-files.ts';
import { generateEnvoyFiles } from '../bootstrap/generate-envoy-files.ts';
import { bootstrapFile } from '../bootstrap/rendered-files.ts';
import type { EgressGateway } from '../settings/egress-gateway-types.ts';
import type { GatewaySpec, ListenAddress, RemoteSdsTls } from '../settings/gateway-spec.ts';
import { parseListenAddress } from '../settings/parse-listen.ts';
import { filesNameOf, podFiles, podPaths } from '../settings/pod-layout.ts';
import {
  allowedClientsOf,
  renderSdsClients,
  renderSdsServerSettings,
  type SdsServerChannel,
} from '../settings/sds-server-settings.ts';
import { renderSidecarSettings, type RemoteChannel, type SidecarSettings } from '../settings/sidecar-settings.ts';
import { podGatewaySpec, originCertificateDir } from './pod-gateway-spec.ts';

export type RenderInput = {
  readonly gateway: EgressGateway;
  /** PEM; never with a CA of the gateway's own pool */
  readonly originRootsPem: string;
  /** PEM; undefined where clients are asked for no certificates */
  readonly clientRootsPem: string | undefined;
  /** of an SDS server that is reached by TCP; undefined: the one in the pod */
  readonly remote?: RemoteServer | undefined;
};

type RemoteServer = {
  /** of its Service, and what Envoy verifies */
  readonly serverName: string;
  /** PEM; of its pool */
  readonly anchorsPem: string;
};

export type RenderedGateway = {
  readonly configMapName: string;
  readonly data: { readonly [file: string]: string };
  /** of what a running pod does not take up: another value needs new pods */
  readonly constantSha256: string;
  /** the same of the SDS servers' pods, where there are some */
  readonly sdsConstantSha256: string | undefined;
  /** of all keys and values together */
  readonly bytes: number;
};

export function renderGateway({ gateway, originRootsPem, clientRootsPem, remote }: RenderInput): RenderedGateway {
  const spec = podGatewaySpec(gateway, remote?.serverName);
  const data: RenderedGateway['data'] = {
    ...Object.fromEntries(generateEnvoyFiles(spec, compactFiles).files),
    [podFiles.originRoots]: originRootsPem,
    ...(spec.front?.clientCaFile === undefined ? {} : { [podFiles.clientRoots]: clientRootsPem ?? '' }),
    [podFiles.policy]: gateway.spec.policyText,
    [podFiles.sidecar]: renderSidecarSettings(sidecarSettings(gateway, spec)),
    ...(remote === undefined ? {} : remoteFiles(gateway, remote)),
  };
  return {
    configMapName: filesNameOf(gateway.name),
    data,
    constantSha256: constantDigest(data, [bootstrapFile, podFiles.sidecar]),
    sdsConstantSha256: remote === undefined ? undefined : constantDigest(data, [podFiles.sdsServer]),
    bytes: sizeOf(data),
  };
}

/** What is read at a start only. */
function constantDigest(data: RenderedGateway['data'], files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(JSON.stringify([file, data[file]]));
  return hash.digest('hex');
}

function sizeOf(data: RenderedGateway['data']): number {
  return Object.entries(data).reduce((sum, [file, text]) => sum + Buffer.byteLength(file) + Buffer.byteLength(text), 0);
}

function sidecarSettings(
  { spec }: EgressGateway,
  { front, originCredentials, remoteSds }: GatewaySpec,
): SidecarSettings {
  const { servingTls } = spec;
  return {
    pool: remoteSds === undefined ? poolOf(spec) : undefined,
    remoteSds: remoteSds && {
      anchors: join(podPaths.gatewayDir, podFiles.anchors),
      channel: remoteChannel(remoteSds.tls, channelSecrets(spec).client),
    },
    sockets: {
      sds: podPaths.sdsSocket,
      admin: podPaths.adminSocket,
      selfCheck: podPaths.selfCheckSocket,
      control: podPaths.controlSocket,
    },
    selfCheckCa: podPaths.selfCheckCa,
    accessLog: podPaths.accessLog,
    proxy: ownProxy(spec.gateway.listenPort),
    leafLifetimeMs: spec.sds.leafLifetimeMs,
    allowEd25519: spec.sds.allowEd25519,
    drainMs: spec.gateway.drainMs,
    serving: servingTls === undefined ? undefined : { secret: servingTls.secretName, dir: podPaths.servingDir },
    clientRoots: front?.clientCaFile,
    originCertificates: originCredentials.map(({ name }) => ({ secret: name, dir: originCertificateDir(name) })),
  };
}

function remoteChannel(tls: RemoteSdsTls | undefined, secret: string): RemoteChannel {
  if (tls === undefined) return { kind: 'plaintext' };
  return { kind: tls.verifiesServer ? 'tls' : 'tls-unverified', secret, dir: tls.certificateDir };
}

function poolOf({ caPool }: EgressGateway['spec']): { readonly secret: string; readonly file: string } {
  return { secret: caPool.secretName, file: podPaths.poolFile };
}

/** They are named before anything is rendered. */
function channelSecrets({ sds: { tls } }: EgressGateway['spec']) {
  const server = tls?.secretName ?? '';
  return { server, client: tls?.clientSecretName ?? server };
}

/** for the SDS servers, and for a self-check without a pool */
function remoteFiles({ spec }: EgressGateway, { serverName, anchorsPem }: RemoteServer): RenderedGateway['data'] {
  const { tls, leafLifetimeMs, allowEd25519 } = spec.sds;
  const settings = { pool: poolOf(spec), channel: serverChannel(spec, serverName), leafLifetimeMs, allowEd25519 };
  const clients = allowedClientsOf(tls);
  // in plaintext nobody need be named
  const hasClients = clients.kind === 'any' || clients.names.size > 0;
  return {
    [podFiles.anchors]: anchorsPem,
    [podFiles.sdsServer]: renderSdsServerSettings(settings),
    ...(hasClients ? { [podFiles.sdsClients]: renderSdsClients(clients) } : {}),
  };
}

function serverChannel(spec: EgressGateway['spec'], serverName: string): SdsServerChannel {
  const { tls } = spec.sds;
  const dir = podPaths.sdsServerDir;
  if (tls?.enabled === false) return { kind: 'plaintext', dir };
  const verified = tls?.insecureSkipVerify === true ? {} : { serverName };
  return { kind: 'tls', secret: channelSecrets(spec).server, dir, ...verified };
}

function ownProxy(port: number): ListenAddress {
  return parseListenAddress(`127.0.0.1:${port}`);
}
