// From a gateway's spec to Envoy's files, as text in one of two styles. Pure: the same spec gives the same bytes, so that
// a change is seen by comparing. Of these files only bootstrap.yaml needs a restart; the others are followed.
import type { GatewaySpec } from '../settings/gateway-spec.ts';
import { clusterNames, clusters, clustersDocument } from './clusters.ts';
import { dnsCaches } from './dns-cache.ts';
import { explicitListeners } from './explicit-listener.ts';
import type { Plan } from './http-leg.ts';
import { innerListener } from './inner-listener.ts';
import { extension, type JsonObject } from './json.ts';
import { overloadManager } from './limits.ts';
import { credentialChoiceDocument, credentialClusterPrefix, credentialDocuments } from './origin-credentials.ts';
import { originRootsDocument } from './origin-roots.ts';
import { frontDocuments } from './proxy-front.ts';
import { policyDocument } from './policy-filter.ts';
import {
  bootstrapFile,
  clustersFile,
  credentialChoiceFile,
  followedFile,
  originRootsFile,
  policyFile,
  resolveFile,
  type EnvoyFileStyle,
  type FollowedDocument,
} from './rendered-files.ts';
import { resolveDocument } from './resolve-filter.ts';
import { sdsDocuments } from './sds-cluster.ts';
import { selfCheckDocuments } from './self-check-roots.ts';
import { transparentListeners } from './transparent-listener.ts';

export type EnvoyFiles = {
  /** by file name in the rendered folder */
  readonly files: ReadonlyMap<string, string>;
  readonly bootstrapFile: typeof bootstrapFile;
};

export function generateEnvoyFiles(spec: GatewaySpec, style: EnvoyFileStyle): EnvoyFiles {
  const origins = originDocuments(spec);
  return {
    files: new Map([
      [bootstrapFile, style.bootstrap(bootstrapDocument(spec))],
      [policyFile, style.followed(policyDocument(spec.policy, spec.dryRun))],
      [resolveFile, style.followed(resolveDocument(spec.resolve))],
      [originRootsFile, style.followed(originRootsDocument(spec.paths))],
      [clustersFile, style.followed(origins.clusters)],
      [credentialChoiceFile, style.followed(origins.choice)],
      ...secretDocuments(spec).map(([file, document]) => [file, style.followed(document)] as const),
    ]),
    bootstrapFile,
  };
}

function secretDocuments(spec: GatewaySpec): readonly (readonly [string, JsonObject])[] {
  return [
    ...frontDocuments(spec.front, spec.paths),
    ...credentialDocuments(spec),
    ...sdsDocuments(spec),
    ...selfCheckDocuments(spec),
  ];
}

/** What `originCredentials` make: a running Envoy must hold the clusters before the choice, which names them. */
export function originDocuments(spec: GatewaySpec): Readonly<Record<'clusters' | 'choice', FollowedDocument>> {
  return {
    clusters: clustersDocument(spec, dnsCaches(spec)),
    choice: credentialChoiceDocument(spec.originCredentials),
  };
}

export function bootstrapDocument(spec: GatewaySpec): JsonObject {
  const plan: Plan = { spec, dnsCaches: dnsCaches(spec) };
  return {
    node: { id: 'leafgate', cluster: 'leafgate' },
    admin: { address: { pipe: { path: spec.paths.adminSocket, mode: ownerOnly } } },
    bootstrap_extensions: [
      extension(
        'envoy.bootstrap.internal_listener',
        'envoy.extensions.bootstrap.internal_listener.v3.InternalListener',
      ),
    ],
    stats_config: { stats_matcher: { exclusion_list: { patterns: statsOfNames } } },
    overload_manager: overloadManager(spec.limits),
    dynamic_resources: { ads_config: adsConfig, cds_config: followedFile(spec.paths, clustersFile) },
    static_resources: {
      listeners: [...explicitListeners(plan), ...transparentListeners(plan), innerListener(plan)],
      clusters: clusters(spec, plan.dnsCaches),
    },
  };
}

/** 0600 */
const ownerOnly = 0o600;

/**
 * Ten statistics and one gauge for every name that a client ever asked for, otherwise; and 250 for every client certificate, which
 * made each look at the others slow (measured).
 */
const statsOfNames: readonly JsonObject[] = [
  { prefix: 'sds.' },
  { contains: '.on_demand_secret.ssl.certificate.' },
  { prefix: `cluster.${credentialClusterPrefix}` },
];

/**
 * Our own server, on one delta stream. The node is sent once (61 KB with every message otherwise) and a lost stream is
 * back within a second (Envoy's default waits up to 30 s). Without this block Envoy aborts at the first handshake.
 */
const adsConfig: JsonObject = {
  api_type: 'DELTA_GRPC',
  transport_api_version: 'V3',
  set_node_on_first_message_only: true,
  grpc_services: [
    {
      envoy_grpc: {
        cluster_name: clusterNames.sds,
        retry_policy: { retry_back_off: { base_interval: '0.1s', max_interval: '1s' } },
      },
    },
  ],
};
