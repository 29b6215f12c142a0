// Rules for a bootstrap: the way to the SDS server, what clients can reach and read around the interception, origins, and
// the admin interface. Pure.
import type { MapNode } from './bootstrap-tree.ts';
import { problemAt } from './bootstrap-problem.ts';
import { envoyGrpcOf, nameOf, sdsClusters, type BootstrapView } from './bootstrap-view.ts';
import type { Problem } from './problem-table.ts';
import { at, findMaps, findMessages, isMessage, mapAt, mapsAt, textAt, valueAt } from './tree-queries.ts';

const httpOptions = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';

export function sdsClusterRules(view: BootstrapView): readonly Problem[] {
  const { streams, clusters, hasClusterDiscovery } = view;
  const known = new Set(clusters.map((cluster) => textAt(cluster, 'name')));
  const unknown = streams.flatMap((stream) => {
    const grpc = envoyGrpcOf(stream);
    const cluster = textAt(grpc, 'cluster_name');
    if (grpc === undefined || hasClusterDiscovery || known.has(cluster)) return [];
    return [problemAt(grpc, 'sds-cluster-unknown', { cluster })];
  });
  const isPerName = streams.some(({ kind }) => kind === 'per-name');
  return [...unknown, ...sdsClusters(view).flatMap((cluster) => clusterProblems(cluster, isPerName))];
}

/** what Envoy allows without circuit_breakers */
const defaultRequests = 1_024;
/** `leafgate sds --max-live-names` by default: each live name is one open stream */
const liveNames = 20_000;

function clusterProblems(node: MapNode, isPerName: boolean): readonly Problem[] {
  const cluster = nameOf(node);
  const options = mapAt(node, 'typed_extension_protocol_options', httpOptions);
  const http2 =
    mapAt(options, 'explicit_http_config', 'http2_protocol_options') ?? mapAt(node, 'http2_protocol_options');
  if (http2 === undefined) return [problemAt(node, 'sds-cluster-without-http2', { cluster })];
  const problems: Problem[] = [...channelProblems(node, cluster)];
  if (at(http2, 'connection_keepalive') === undefined) {
    problems.push(problemAt(node, 'sds-cluster-without-keepalive', { cluster }));
  }
  const [breaker] = mapsAt(node, 'circuit_breakers', 'thresholds');
  const limit = Number(valueAt(breaker, 'max_requests') ?? defaultRequests);
  if (isPerName && limit < liveNames) problems.push(problemAt(node, 'sds-cluster-stream-limit', { cluster, limit }));
  return problems;
}

/** what another machine is told, and by whom; a unix socket is guarded by its mode, loopback by nothing but the machine */
function channelProblems(node: MapNode, cluster: string): readonly Problem[] {
  const tls = mapAt(node, 'transport_socket', 'typed_config');
  if (tls === undefined || !isMessage(tls, 'UpstreamTlsContext')) {
    const endpoints = findMaps(node, (one) => one.entries.has('port_value'));
    const away = endpoints.map((endpoint) => textAt(endpoint.node, 'address')).find((address) => !isLoopback(address));
    return away === undefined ? [] : [problemAt(node, 'sds-cluster-in-clear', { cluster, address: away })];
  }
  if (isVerified(mapAt(tls, 'common_tls_context'))) return [];
  return [problemAt(node, 'sds-cluster-unverified', { cluster })];
}

function isLoopback(address: string): boolean {
  return address === '::1' || address === 'localhost' || /^127(?:\.\d{1,3}){3}$/.test(address);
}

export function unreadRules({ root, selectors }: BootstrapView): readonly Problem[] {
  const sharing = new Set(['ONCE', 'TRANSITIVE', '1', '2']);
  const shared = findMaps(root, (node) => {
    return textAt(node, 'factory_key') === 'envoy.string' && sharing.has(textAt(node, 'shared_with_upstream'));
  });
  const listeners = new Set(selectors.flatMap(({ listener }) => listener ?? []));
  return [
    ...shared.map(({ node }) => problemAt(node, 'shared-string-object', { key: textAt(node, 'object_key') })),
    ...[...listeners].flatMap(openChains),
  ];
}

/** chains that take whatever is left, and send it on as it is */
function openChains(node: MapNode): readonly Problem[] {
  const chains = mapsAt(node, 'filter_chains');
  const byDefault = mapAt(node, 'default_filter_chain');
  const matcher = mapAt(node, 'filter_chain_matcher');
  const withoutMatch = chains.filter((chain) => (mapAt(chain, 'filter_chain_match')?.entries.size ?? 0) === 0);
  const unmatched = matcher === undefined ? withoutMatch : chains.filter((chain) => isChosenOnNoMatch(matcher, chain));
  return [...(byDefault === undefined ? [] : [byDefault]), ...unmatched].flatMap((chain) => {
    return forwardsUnread(chain) ? [problemAt(chain, 'open-default-chain', { listener: nameOf(node) })] : [];
  });
}

/** `on_no_match: {action: {typed_config: {value: NAME}}}` names a chain */
function isChosenOnNoMatch(matcher: MapNode, chain: MapNode): boolean {
  return textAt(matcher, 'on_no_match', 'action', 'typed_config', 'value') === textAt(chain, 'name');
}

function forwardsUnread(chain: MapNode): boolean {
  if (findMessages(chain, 'DownstreamTlsContext').length > 0) return false;
  return mapsAt(chain, 'filters').some((filter) => {
    const config = mapAt(filter, 'typed_config');
    return config !== undefined && isMessage(config, 'tcp_proxy.v3.TcpProxy');
  });
}

/** what makes Envoy judge a certificate; a validation context without any of it verifies nothing (Envoy, CertificateValidationContext) */
const judgingFields = [
  'trusted_ca',
  'system_root_certs',
  'ca_certificate_provider_instance',
  'verify_certificate_spki',
  'verify_certificate_hash',
  'custom_validator_config',
] as const;

const combined = 'combined_validation_context';
const secretField = 'validation_context_sds_secret_config';
/** contexts that stand in the bootstrap; what a secret says is not seen from here */
const writtenContexts = [['validation_context'], [combined, 'default_validation_context']] as const;
const secretContexts = [[secretField], [combined, secretField]] as const;

export function originRules(view: BootstrapView): readonly Problem[] {
  const sds = new Set(sdsClusters(view));
  const origins = view.clusters.filter((cluster) => !sds.has(cluster));
  return [...origins.flatMap(originProblems), ...unguardedCaches(view)];
}

function originProblems(cluster: MapNode): readonly Problem[] {
  const name = nameOf(cluster);
  return findMessages(cluster, 'UpstreamTlsContext').flatMap(({ node }) => {
    const common = mapAt(node, 'common_tls_context');
    const problems: Problem[] = [];
    if (!isVerified(common)) problems.push(problemAt(node, 'origin-not-verified', { cluster: name }));
    if (textAt(common, 'tls_params', 'tls_maximum_protocol_version') !== 'TLSv1_3') {
      problems.push(problemAt(node, 'upstream-tls-capped', { cluster: name }));
    }
    return problems;
  });
}

function isVerified(common: MapNode | undefined): boolean {
  if (common === undefined) return false;
  const untrusted = findMaps(common, (node) => textAt(node, 'trust_chain_verification') === 'ACCEPT_UNTRUSTED');
  if (untrusted.length > 0) return false;
  const judges = writtenContexts.map((path) => mapAt(common, ...path));
  return (
    secretContexts.some((path) => at(common, ...path) !== undefined) ||
    judges.some((context) => judgingFields.some((field) => at(context, field) !== undefined))
  );
}

/** a cache is named wherever it is used, and is the same by its name */
function unguardedCaches({ root }: BootstrapView): readonly Problem[] {
  const seen = new Set<string>();
  return findMaps(root, (node) => node.entries.has('dns_cache_config')).flatMap(({ node }) => {
    const cache = mapAt(node, 'dns_cache_config');
    const name = nameOf(cache);
    if (cache === undefined || seen.has(name) || at(cache, 'resolved_address_filter') !== undefined) return [];
    seen.add(name);
    return [problemAt(cache, 'destinations-unguarded', { cache: name })];
  });
}

const openToOthers = 0o077;

export function adminRules({ root }: BootstrapView): readonly Problem[] {
  const address = mapAt(root, 'admin', 'address');
  const socket = mapAt(address, 'socket_address');
  if (socket !== undefined) {
    const host = textAt(socket, 'address');
    const isLocal = /^127\.|^::1$|^localhost$/.test(host);
    const fields = { address: `${host}:${textAt(socket, 'port_value')}` };
    return [problemAt(socket, isLocal ? 'admin-on-port' : 'admin-on-network', fields)];
  }
  const pipe = mapAt(address, 'pipe');
  if (pipe === undefined) return [];
  const mode = Number(valueAt(pipe, 'mode') ?? 0);
  if (mode !== 0 && (mode & openToOthers) === 0) return [];
  const shown = mode === 0 ? 'what umask leaves' : mode.toString(8).padStart(4, '0');
  return [problemAt(pipe, 'admin-socket-open', { path: textAt(pipe, 'path'), mode: shown })];
}
