// Client certificates for chosen origins. The host of a request that has passed the comparison of names and the policy picks
// a credential, the most specific pattern winning as in a policy; what it picks is the name of a cluster, which shows it. So no
// other host's requests use its connections.
//
// The choice is a followed filter, and the clusters are followed too. One whose files are others, or say something else, is
// another cluster: Envoy answers some requests of a cluster with 502 while it is being replaced (measured, 5 of 150 times under
// steady requests), and none while one comes or goes that nobody picks. So the files are named in the cluster, not followed as
// secrets: each secret costs Envoy two inotify instances, of which Linux gives a user 128, and without one it aborts (measured).
// Where nobody looks at the files before Envoy does (no reload folder), they are followed all the same.
import { createHash } from 'node:crypto';
import { hostPatternText } from '../names/host-pattern.ts';
import type { GatewayPaths, GatewaySpec, OriginCredential, ShownCredential } from '../settings/gateway-spec.ts';
import { certificateDocument, rootsDocument, secretReference, watchedDir } from './file-secrets.ts';
import { httpStateType, ownObject, plainFormat, stateKeys } from './filter-state.ts';
import { extension, typed, type JsonObject } from './json.ts';
import { originRootsReference } from './origin-roots.ts';
import { hostTree, policyFilterType, rbacAction } from './policy-filter.ts';
import {
  credentialChoiceFile,
  filterDocument,
  followedFile,
  followedFilter,
  type FollowedDocument,
} from './rendered-files.ts';
import { upstreamTls } from './upstream-tls.ts';

/** before a credential's id in the name of its cluster: what no host picks is called otherwise */
export const credentialClusterPrefix = 'credential-';
const noneChosen = 'none';
/** after it where HTTP/1.1 alone is spoken */
const onlyHttp1Suffix = '-http1';
/** prefix of the metadata that the choice leaves; the policy's own must not be hidden by it */
const metadataPrefix = 'credential_';
const chosen = `%DYNAMIC_METADATA(envoy.filters.http.rbac:${metadataPrefix}enforced_effective_policy_id)%`;

/**
 * What routes read the name of a cluster from. Written over whatever a client says just before, and gone before a request
 * leaves.
 */
const clusterHeader = 'x-leafgate-cluster';
const onlyHttp1ClusterHeader = 'x-leafgate-http1-cluster';
export const clusterHeaders = [clusterHeader, onlyHttp1ClusterHeader] as const;

export const credentialFilterName = 'credential';

/** Chooses, and notes the choice, by which the route is found anew; refuses nothing. */
export function credentialFilters({ paths }: GatewaySpec): readonly JsonObject[] {
  const written = [
    { key: clusterHeader, value: chosen },
    { key: onlyHttp1ClusterHeader, value: `${chosen}${onlyHttp1Suffix}` },
  ].map((header) => ({ append: { header, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' } }));
  return [
    followedFilter(credentialFilterName, policyFilterType, followedFile(paths, credentialChoiceFile)),
    extension('credential-cluster', 'envoy.extensions.filters.http.header_mutation.v3.HeaderMutation', {
      mutations: { request_mutations: written },
    }),
    extension('credential-name', httpStateType, {
      on_request_headers: [ownObject(stateKeys.credential, plainFormat(chosen))],
      // a route is found before the first filter runs
      clear_route_cache: true,
    }),
  ];
}

/** for a route's match: the host of the request has picked a credential */
export const picksCredential: JsonObject = {
  filter_state: [{ key: stateKeys.credential, string_match: { prefix: credentialClusterPrefix } }],
};

/** where such a route leads */
export const toCredential: JsonObject = { cluster_header: clusterHeader };
export const toCredentialOverHttp1: JsonObject = { cluster_header: onlyHttp1ClusterHeader };

/** The followed file of that choice; without credentials it is a filter that does nothing. */
export function credentialChoiceDocument(credentials: readonly ShownCredential[]): FollowedDocument {
  const matchers = [...domainsByCredential(credentials)].map(([cluster, domains]) => ({
    domains,
    on_match: rbacAction(cluster, 'ALLOW'),
  }));
  const choice = {
    ...hostTree('envoy.matching.custom_matchers.domain_matcher', 'xds.type.matcher.v3.ServerNameMatcher', {
      domain_matchers: matchers,
    }),
    on_no_match: rbacAction(noneChosen, 'ALLOW'),
  };
  const configuration = typed(policyFilterType, {
    rules_stat_prefix: metadataPrefix,
    ...(matchers.length === 0 ? {} : { matcher: choice }),
  });
  return filterDocument(credentialFilterName, configuration);
}

export type CredentialClusters = {
  /** of any version of HTTP, and of HTTP/1.1 alone */
  readonly names: readonly [string, string];
  /** what both speak to origins */
  readonly tls: JsonObject;
};

/** One pair for each credential. */
export function credentialClusters({ originCredentials, paths }: GatewaySpec): readonly CredentialClusters[] {
  return originCredentials.map((credential) => {
    const name = credentialCluster(credential);
    return { names: [name, `${name}${onlyHttp1Suffix}`], tls: credentialTls(credential, paths) };
  });
}

/** The documents of the secrets, by file name. */
export function credentialDocuments({
  originCredentials,
  paths,
}: GatewaySpec): readonly (readonly [string, JsonObject])[] {
  if (paths.reloadDir !== undefined) return [];
  return originCredentials.flatMap((credential) => {
    const { caFile } = credential;
    const certificate = certificateDocument(
      credentialSecret(credential),
      credential,
      watchedDir(credential.certificateFile, paths),
    );
    if (caFile === undefined) return [[credentialFile(credential), certificate] as const];
    const roots = rootsDocument(credentialRootsSecret(credential), caFile, watchedDir(caFile, paths));
    return [[credentialFile(credential), certificate] as const, [credentialRootsFile(credential), roots] as const];
  });
}

function credentialTls(credential: ShownCredential, paths: GatewayPaths): JsonObject {
  const common = paths.reloadDir === undefined ? followedFiles(credential, paths) : namedFiles(credential, paths);
  return upstreamTls({}, common);
}

function namedFiles({ certificateFile, keyFile, caFile }: ShownCredential, paths: GatewayPaths): JsonObject {
  const certificate = { certificate_chain: { filename: certificateFile }, private_key: { filename: keyFile } };
  const roots =
    caFile === undefined
      ? { validation_context_sds_secret_config: originRootsReference(paths) }
      : { validation_context: { trusted_ca: { filename: caFile } } };
  return { tls_certificates: [certificate], ...roots };
}

function followedFiles(credential: ShownCredential, paths: GatewayPaths): JsonObject {
  const certificate = secretReference(credentialSecret(credential), paths, credentialFile(credential));
  const roots =
    credential.caFile === undefined
      ? originRootsReference(paths)
      : secretReference(credentialRootsSecret(credential), paths, credentialRootsFile(credential));
  return { tls_certificate_sds_secret_configs: [certificate], validation_context_sds_secret_config: roots };
}

/** names of the secrets in Envoy, where it follows them */
export function credentialSecret({ name }: OriginCredential): string {
  return `origin_credential_${name}`;
}

export function credentialRootsSecret({ name }: OriginCredential): string {
  return `origin_roots_${name}`;
}

function credentialFile({ name }: ShownCredential): string {
  return `credential-${name}.json`;
}

function credentialRootsFile({ name }: ShownCredential): string {
  return `roots-of-credential-${name}.json`;
}

/** other files, or other words in them, make another one */
export function credentialCluster(credential: ShownCredential): string {
  return `${credentialClusterPrefix}${credentialId(credential)}`;
}

function credentialId({ name, certificateFile, keyFile, caFile = '', digest }: ShownCredential): string {
  const files = JSON.stringify([certificateFile, keyFile, caFile, digest]);
  return `${name}-${createHash('sha256').update(files).digest('hex').slice(0, idChars)}`;
}

/** enough to tell apart the few files that one name had */
const idChars = 12;

/** Envoy takes a domain once: where several credentials list it, the first has it */
function domainsByCredential(credentials: readonly ShownCredential[]): ReadonlyMap<string, readonly string[]> {
  const taken = new Set<string>();
  const domains = new Map<string, readonly string[]>();
  for (const credential of credentials) {
    const own = credential.hosts.map(hostPatternText).filter((domain) => !taken.has(domain));
    for (const domain of own) taken.add(domain);
    if (own.length > 0) domains.set(credentialCluster(credential), [...new Set(own)]);
  }
  return domains;
}
