// From an EgressGateway and the roots that were judged for it to the ConfigMap that its pods mount: Envoy's files, the policy
// and the settings of the sidecar. Pure: the same input gives the same bytes. Nothing in it is secret: keys stay in their
// Secrets, and the files only point to where those are mounted.
import { createHash } from 'node:crypto';
import { compactFiles } from '../bootstrap/compact-files.ts';
import { generateEnvoyFiles } from '../bootstrap/generate-envoy-files.ts';
import { bootstrapFile } from '../bootstrap/rendered-files.ts';
import type { EgressGateway } from '../settings/egress-gateway-types.ts';
import type { GatewaySpec, ListenAddress } from '../settings/gateway-spec.ts';
import { parseListenAddress } from '../settings/parse-listen.ts';
import { filesNameOf, podFiles, podPaths } from '../settings/pod-layout.ts';
import { renderSidecarSettings, type SidecarSettings } from '../settings/sidecar-settings.ts';
import { podGatewaySpec, originCertificateDir } from './pod-gateway-spec.ts';

export type RenderInput = {
  readonly gateway: EgressGateway;
  /** PEM; never with a CA of the gateway's own pool */
  readonly originRootsPem: string;
  /** PEM; undefined where clients are asked for no certificates */
  readonly clientRootsPem: string | undefined;
};

export type RenderedGateway = {
  readonly configMapName: string;
  readonly data: { readonly [file: string]: string };
  /** of what a running pod does not take up: another value needs new pods */
  readonly constantSha256: string;
  /** of all keys and values together */
  readonly bytes: number;
};

export function renderGateway({ gateway, originRootsPem, clientRootsPem }: RenderInput): RenderedGateway {
  const spec = podGatewaySpec(gateway);
  const data = {
    ...Object.fromEntries(generateEnvoyFiles(spec, compactFiles).files),
    [podFiles.originRoots]: originRootsPem,
    ...(spec.front?.clientCaFile === undefined ? {} : { [podFiles.clientRoots]: clientRootsPem ?? '' }),
    [podFiles.policy]: gateway.spec.policyText,
    [podFiles.sidecar]: renderSidecarSettings(sidecarSettings(gateway, spec)),
  };
  return {
    configMapName: filesNameOf(gateway.name),
    data,
    constantSha256: constantDigest(data),
    bytes: sizeOf(data),
  };
}

/** What Envoy and the sidecar read at their start only. */
function constantDigest(data: RenderedGateway['data']): string {
  const hash = createHash('sha256');
  for (const file of [bootstrapFile, podFiles.sidecar]) hash.update(JSON.stringify([file, data[file]]));
  return hash.digest('hex');
}

function sizeOf(data: RenderedGateway['data']): number {
  return Object.entries(data).reduce((sum, [file, text]) => sum + Buffer.byteLength(file) + Buffer.byteLength(text), 0);
}

function sidecarSettings({ spec }: EgressGateway, { front, originCredentials }: GatewaySpec): SidecarSettings {
  const { servingTls } = spec;
  return {
    pool: { secret: spec.caPool.secretName, file: podPaths.poolFile },
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

function ownProxy(port: number): ListenAddress {
  return parseListenAddress(`127.0.0.1:${port}`);
}
