// Client certificates for chosen origins. The host of a request that has passed the comparison of names and the policy picks
// a credential, the most specific pattern winning as in a policy; its name travels as filter state to the connection, and
// chooses what that connection shows. It is part of the pool's key, so that no other host's requests use the connection.
import { hostPatternText } from '../names/host-pattern.ts';
import type { GatewayPaths, GatewaySpec, OriginCredential } from '../settings/gateway-spec.ts';
import { certificateDocument, rootsDocument, secretReference, watchedDir } from './file-secrets.ts';
import { httpStateFilter, plainFormat, sharedObject, stateKeys } from './filter-state.ts';
import { extension, type JsonObject } from './json.ts';
import { originRootsReference } from './origin-roots.ts';
import { hostTree, rbacAction } from './policy-filter.ts';
import { upstreamTls } from './upstream-tls.ts';

/** before a credential's name: what no host picks is called otherwise */
const chosenPrefix = 'credential:';
const noneChosen = 'none';
/** prefix of the metadata that the choice leaves; the policy's own must not be hidden by it */
const metadataPrefix = 'credential_';

/** names of the secrets in Envoy */
export function credentialSecret({ name }: OriginCredential): string {
  return `origin_credential_${name}`;
}

export function credentialRootsSecret({ name }: OriginCredential): string {
  return `origin_roots_${name}`;
}

/** Chooses, and notes the choice for the connection to the origin; refuses nothing. */
export function credentialFilters({ originCredentials }: GatewaySpec): readonly JsonObject[] {
  if (originCredentials.length === 0) return [];
  const matchers = [...domainsByCredential(originCredentials)].map(([name, domains]) => ({
    domains,
    on_match: rbacAction(`${chosenPrefix}${name}`, 'ALLOW'),
  }));
  const choice = extension('credential', 'envoy.extensions.filters.http.rbac.v3.RBAC', {
    rules_stat_prefix: metadataPrefix,
    matcher: {
      ...hostTree('envoy.matching.custom_matchers.domain_matcher', 'xds.type.matcher.v3.ServerNameMatcher', {
        domain_matchers: matchers,
      }),
      on_no_match: rbacAction(noneChosen, 'ALLOW'),
    },
  });
  const chosen = `%DYNAMIC_METADATA(envoy.filters.http.rbac:${metadataPrefix}enforced_effective_policy_id)%`;
  return [choice, httpStateFilter('credential-name', [sharedObject(stateKeys.credential, plainFormat(chosen))])];
}

/** What a cluster of origins needs to show them. */
export function credentialSockets({ originCredentials, paths }: GatewaySpec): JsonObject {
  if (originCredentials.length === 0) return {};
  const choices = originCredentials.map((credential) => {
    const name = `${chosenPrefix}${credential.name}`;
    const type = 'envoy.extensions.matching.common_inputs.transport_socket.v3.TransportSocketNameAction';
    return [name, { action: extension(name, type, { name }) }] as const;
  });
  const input = extension('name', 'envoy.extensions.matching.common_inputs.transport_socket.v3.FilterStateInput', {
    key: stateKeys.credential,
  });
  return {
    transport_socket_matches: originCredentials.map((credential) => ({
      name: `${chosenPrefix}${credential.name}`,
      match: {},
      transport_socket: credentialTls(credential, paths),
    })),
    transport_socket_matcher: { matcher_tree: { input, exact_match_map: { map: Object.fromEntries(choices) } } },
  };
}

/** The documents of the secrets, by file name. */
export function credentialDocuments({
  originCredentials,
  paths,
}: GatewaySpec): readonly (readonly [string, JsonObject])[] {
  return originCredentials.flatMap((credential) => {
    const { caFile } = credential;
    const certificate = certificateDocument(credentialSecret(credential), credential, paths);
    if (caFile === undefined) return [[credentialFile(credential), certificate] as const];
    const roots = rootsDocument(credentialRootsSecret(credential), caFile, watchedDir(caFile, paths));
    return [[credentialFile(credential), certificate] as const, [credentialRootsFile(credential), roots] as const];
  });
}

function credentialTls(credential: OriginCredential, paths: GatewayPaths): JsonObject {
  const certificate = secretReference(credentialSecret(credential), paths, credentialFile(credential));
  const roots =
    credential.caFile === undefined
      ? originRootsReference(paths)
      : secretReference(credentialRootsSecret(credential), paths, credentialRootsFile(credential));
  return upstreamTls(
    {},
    { tls_certificate_sds_secret_configs: [certificate], validation_context_sds_secret_config: roots },
  );
}

function credentialFile({ name }: OriginCredential): string {
  return `credential-${name}.json`;
}

function credentialRootsFile({ name }: OriginCredential): string {
  return `roots-of-credential-${name}.json`;
}

/** Envoy takes a domain once: where several credentials list it, the first has it */
function domainsByCredential(credentials: readonly OriginCredential[]): ReadonlyMap<string, readonly string[]> {
  const taken = new Set<string>();
  const domains = new Map<string, readonly string[]>();
  for (const { name, hosts } of credentials) {
    const own = hosts.map(hostPatternText).filter((domain) => !taken.has(domain));
    for (const domain of own) taken.add(domain);
    if (own.length > 0) domains.set(name, [...new Set(own)]);
  }
  return domains;
}
