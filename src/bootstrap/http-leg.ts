// What all HTTP legs share: one connection manager with the limits and the local replies, the filters in their order,
// and routes that leave nothing of the gateway in a request.
import { causeHeader, errorHeader, ruleHeader } from '../settings/gateway-answers.ts';
import type { GatewaySpec } from '../settings/gateway-spec.ts';
import { clusterNames } from './clusters.ts';
import type { DnsCaches } from './dns-cache.ts';
import { extension, typed, type JsonObject } from './json.ts';
import { http2Limits, idleTimeout, maxHeaderCount, maxRequestHeadersKb, requestHeadersTimeout } from './limits.ts';
import { localReplies } from './local-replies.ts';
import { clusterHeaders } from './origin-credentials.ts';
import { policyFilterName, policyFilterType } from './policy-filter.ts';
import { followedFile, followedFilter, policyFile } from './rendered-files.ts';

/** What chains and listeners are built from: the spec, and the DNS caches. */
export type Plan = { readonly spec: GatewaySpec; readonly dnsCaches: DnsCaches };

export type HttpLeg = {
  /** prefix of its statistics */
  readonly name: string;
  readonly accessLogs: readonly JsonObject[];
  /** before the forward proxy and the router, which are always last */
  readonly filters: readonly JsonObject[];
  readonly virtualHosts: readonly JsonObject[];
  /** how long a connection lives on which nothing is under way */
  readonly idleConnection: string;
  /** fields of the connection manager that only this leg has */
  readonly fields?: JsonObject;
};

export function httpConnectionManager(plan: Plan, leg: HttpLeg): JsonObject {
  const type = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
  return extension('envoy.filters.network.http_connection_manager', type, {
    stat_prefix: leg.name,
    codec_type: 'AUTO',
    http2_protocol_options: http2Limits,
    upgrade_configs: [{ upgrade_type: 'websocket' }],
    common_http_protocol_options: { idle_timeout: leg.idleConnection, max_headers_count: maxHeaderCount },
    stream_idle_timeout: idleTimeout,
    request_headers_timeout: requestHeadersTimeout,
    max_request_headers_kb: maxRequestHeadersKb,
    http_protocol_options: http1Options,
    ...untouchedMessages,
    ...leg.fields,
    access_log: leg.accessLogs,
    local_reply_config: localReplies,
    http_filters: [...leg.filters, ...forwardProxyFilters(plan.dnsCaches), ownTrailersFilter, routerFilter],
    route_config: {
      virtual_hosts: leg.virtualHosts,
      request_headers_to_remove: headersOfEnvoy,
      response_headers_to_remove: headersOfGateway,
    },
  });
}

/** The policy, on every leg: a live intercepted connection feels a new rule on its next request. */
export function policyFilter({ spec }: Plan): JsonObject {
  return followedFilter(policyFilterName, policyFilterType, followedFile(spec.paths, policyFile));
}

export function virtualHost(name: string, domains: readonly string[], routes: readonly JsonObject[]): JsonObject {
  return { name, domains, routes };
}

/** every path to one cluster, for as long as the stream is alive */
export function routeTo(cluster: string, match: JsonObject = {}): JsonObject {
  return routeBy({ cluster }, match);
}

/** the same, where `target` says what the cluster is called */
export function routeBy(target: JsonObject, match: JsonObject): JsonObject {
  return { match: { prefix: '/', ...match }, route: { ...target, timeout: '0s', retry_policy: onceMoreWhereSafe } };
}

/**
 * An origin may close a kept connection just as a request is sent on it. Clients ask again when that happens to a connection of
 * their own, but not when a proxy answers 502; so the proxy asks, once, and only what is safe to repeat (RFC 9110 9.2.2).
 */
const onceMoreWhereSafe: JsonObject = {
  retry_on: 'reset',
  num_retries: 1,
  retriable_request_headers: [
    { name: ':method', string_match: { safe_regex: { google_re2: {}, regex: 'GET|HEAD|OPTIONS' } } },
  ],
};

/** Clear requests, those to a port of the gateway itself (`toOwnPort`) by the cache that refuses its own addresses. */
export function clearRoutes(cluster: string, toOwnPort: JsonObject): readonly JsonObject[] {
  return [
    {
      ...routeTo(clusterNames.originClearOwnPorts, toOwnPort),
      typed_per_filter_config: { [forwardProxyName]: isDisabled(true), [ownPortsProxyName]: isDisabled(false) },
    },
    routeTo(cluster),
  ];
}

/** `host`, with and without a port */
export function domainsOf(host: string): readonly string[] {
  return [host, `${host}:*`];
}

/** Old clients are served too; without the second field Envoy drops trailers without a word (measured). */
export const http1Options: JsonObject = { accept_http_10: true, enable_trailers: true };

/** What Envoy would change on the way through and must not; one trailing dot goes, for routes compare bytes. */
const untouchedMessages: JsonObject = {
  skip_xff_append: true,
  // the origin answers `Expect: 100-continue` itself, so that it can refuse a body before it is sent (RFC 9110 10.1.1)
  proxy_100_continue: true,
  // or a client's `x-forwarded-proto` becomes the `:scheme` that an HTTP/2 origin sees (measured)
  scheme_header_transformation: { match_upstream: true },
  generate_request_id: false,
  server_header_transformation: 'PASS_THROUGH',
  normalize_path: false,
  path_with_escaped_slashes_action: 'KEEP_UNCHANGED',
  strip_trailing_host_dot: true,
};

const headersOfEnvoy = [
  'x-forwarded-proto',
  'x-envoy-internal',
  'x-envoy-external-address',
  'x-envoy-expected-rq-timeout-ms',
  // a client's word to this proxy is none of the origin's business (RFC 9110 11.7.2)
  'proxy-authorization',
  'proxy-connection',
  ...clusterHeaders,
] as const;

/** only the gateway itself may say that it refused */
const headersOfGateway = [errorHeader, ruleHeader, causeHeader] as const;

/** a route removes them from the head alone */
const ownTrailersFilter = extension(
  'envoy.filters.http.header_mutation',
  'envoy.extensions.filters.http.header_mutation.v3.HeaderMutation',
  { mutations: { response_trailers_mutations: headersOfGateway.map((remove) => ({ remove })) } },
);

const routerFilter = extension('envoy.filters.http.router', 'envoy.extensions.filters.http.router.v3.Router', {
  suppress_envoy_headers: true,
});

const forwardProxyName = 'envoy.filters.http.dynamic_forward_proxy';
const ownPortsProxyName = 'forward-proxy-own-ports';

/** each route uses the one whose cache its cluster has */
function forwardProxyFilters({ egress, ownPorts }: DnsCaches): readonly JsonObject[] {
  return [
    forwardProxyFilter(forwardProxyName, egress),
    { ...forwardProxyFilter(ownPortsProxyName, ownPorts), disabled: true },
  ];
}

function forwardProxyFilter(name: string, dnsCache: JsonObject): JsonObject {
  return extension(name, 'envoy.extensions.filters.http.dynamic_forward_proxy.v3.FilterConfig', {
    dns_cache_config: dnsCache,
    // saves the lookup of a name that is dialled elsewhere (`--resolve`)
    allow_dynamic_host_from_filter_state: true,
  });
}

function isDisabled(disabled: boolean): JsonObject {
  return typed('envoy.config.route.v3.FilterConfig', disabled ? { disabled } : { config: {} });
}
