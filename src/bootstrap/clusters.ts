// Where connections go: the inner listener, our SDS socket, the built-in origin, and origins by name (TLS with HTTP/2 or
// HTTP/1.1, TLS with HTTP/1.1 for upgrades, clear HTTP/1.1, clear HTTP as the client spoke it, plain TCP). Only the SDS
// cluster carries ADS. Those of origins that see a client certificate are followed, all others are constant.
import type { GatewaySpec } from '../settings/gateway-spec.ts';
import type { DnsCaches } from './dns-cache.ts';
import { extension, typed, type JsonObject } from './json.ts';
import { httpOptions } from './http-options.ts';
import { bufferBytes, idleTunnelConnection, openCircuitBreakers, originConnectTimeout } from './limits.ts';
import { credentialClusters } from './origin-credentials.ts';
import { originRootsReference } from './origin-roots.ts';
import { followedDocument, type FollowedDocument } from './rendered-files.ts';
import { sdsCluster } from './sds-cluster.ts';
import { selfCheckValidation } from './self-check-roots.ts';
import { upstreamTls } from './upstream-tls.ts';

export const clusterNames = {
  inner: 'inner',
  redirected: 'redirected',
  sds: 'sds',
  selfCheck: 'self-check',
  originTls: 'origin-tls',
  originTlsHttp1: 'origin-tls-http1',
  originClear: 'origin-clear',
  originClearAsAsked: 'origin-clear-as-asked',
  originClearOwnPorts: 'origin-clear-own-ports',
  originTcp: 'origin-tcp',
  originTcpOwnPorts: 'origin-tcp-own-ports',
} as const;

export const innerListenerName = 'inner';
export const redirectedListenerName = 'redirected';

export function clusters(spec: GatewaySpec, { egress, ownPorts }: DnsCaches): readonly JsonObject[] {
  return [
    { ...internalCluster(clusterNames.inner, innerListenerName), ...tunnelOptions },
    // a CONNECT each; over HTTP/1.1 no other follows on its connection
    ...(spec.transparent === undefined
      ? []
      : [{ ...internalCluster(clusterNames.redirected, redirectedListenerName), ...httpOptions(onlyHttp1) }]),
    sdsCluster(clusterNames.sds, spec),
    selfCheckCluster(spec),
    ...tlsClusters([clusterNames.originTls, clusterNames.originTlsHttp1], egress, originTls(spec)),
    originCluster(clusterNames.originClear, egress, httpOptions(onlyHttp1, verifiedByName)),
    // in clear there is no ALPN: who speaks HTTP/2 in a tunnel, as gRPC does, knows that its origin does
    originCluster(
      clusterNames.originClearAsAsked,
      egress,
      httpOptions({ use_downstream_protocol_config: bothVersions }, verifiedByName),
    ),
    originCluster(clusterNames.originClearOwnPorts, ownPorts, httpOptions(onlyHttp1, verifiedByName)),
    originCluster(clusterNames.originTcp, egress),
    originCluster(clusterNames.originTcpOwnPorts, ownPorts),
  ];
}

/** The followed file of the clusters that show client certificates. */
export function clustersDocument(spec: GatewaySpec, { egress }: DnsCaches): FollowedDocument {
  const shown = credentialClusters(spec).flatMap(({ names, tls }) => tlsClusters(names, egress, tls));
  return followedDocument(shown.map((cluster) => typed('envoy.config.cluster.v3.Cluster', cluster)));
}

/** the second for upgrades: HTTP/2 origins would need extended CONNECT */
function tlsClusters(
  [either, onlyHttp1Name]: readonly [string, string],
  dnsCache: JsonObject,
  tls: JsonObject,
): readonly JsonObject[] {
  const socket = { transport_socket: tls };
  return [
    originCluster(either, dnsCache, { ...httpOptions({ auto_config: bothVersions }, verifiedByName), ...socket }),
    originCluster(onlyHttp1Name, dnsCache, { ...httpOptions(onlyHttp1, verifiedByName), ...socket }),
  ];
}

/** Envoy drops trailers of HTTP/1.1 unless told otherwise */
const http1Options: JsonObject = { enable_trailers: true };
const onlyHttp1: JsonObject = { explicit_http_config: { http_protocol_options: http1Options } };
const bothVersions: JsonObject = { http_protocol_options: http1Options, http2_protocol_options: {} };

/** server name and expected SAN are the request's host; Envoy wants it of clusters in clear too, once they have options */
const verifiedByName: JsonObject = { upstream_http_protocol_options: { auto_sni: true, auto_san_validation: true } };

function originCluster(name: string, dnsCache: JsonObject, fields: JsonObject = {}): JsonObject {
  return {
    name,
    lb_policy: 'CLUSTER_PROVIDED',
    connect_timeout: originConnectTimeout,
    cluster_type: extension(
      'envoy.clusters.dynamic_forward_proxy',
      'envoy.extensions.clusters.dynamic_forward_proxy.v3.ClusterConfig',
      { dns_cache_config: dnsCache },
    ),
    circuit_breakers: openCircuitBreakers,
    per_connection_buffer_limit_bytes: bufferBytes,
    ...fields,
  };
}

const tcpOptionsType = 'envoy.extensions.upstreams.tcp.v3.TcpProtocolOptions';
/** a connection belongs to one tunnel, by its filter state: no other would get it */
const tunnelOptions: JsonObject = {
  typed_extension_protocol_options: {
    [tcpOptionsType]: { '@type': `type.googleapis.com/${tcpOptionsType}`, idle_timeout: idleTunnelConnection },
  },
};

/** Hands a connection to a listener inside Envoy, its filter state with it. */
function internalCluster(name: string, listener: string): JsonObject {
  const rawBuffer = extension(
    'envoy.transport_sockets.raw_buffer',
    'envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer',
  );
  return {
    name,
    connect_timeout: '1s',
    load_assignment: endpoint(name, { envoy_internal_address: { server_listener_name: listener } }),
    circuit_breakers: openCircuitBreakers,
    transport_socket: extension(
      'envoy.transport_sockets.internal_upstream',
      'envoy.extensions.transport_sockets.internal_upstream.v3.InternalUpstreamTransport',
      { transport_socket: rawBuffer },
    ),
    per_connection_buffer_limit_bytes: bufferBytes,
  };
}

/** The built-in origin: no DNS, its own CA and nothing else, its name checked. */
function selfCheckCluster({ selfCheck, paths }: GatewaySpec): JsonObject {
  return {
    name: clusterNames.selfCheck,
    type: 'STATIC',
    connect_timeout: originConnectTimeout,
    load_assignment: endpoint(clusterNames.selfCheck, { pipe: { path: selfCheck.socketPath } }),
    transport_socket: upstreamTls({ sni: selfCheck.host }, selfCheckValidation(selfCheck, paths)),
    per_connection_buffer_limit_bytes: bufferBytes,
  };
}

function originTls({ paths }: GatewaySpec): JsonObject {
  return upstreamTls({}, { validation_context_sds_secret_config: originRootsReference(paths) });
}

function endpoint(clusterName: string, address: JsonObject): JsonObject {
  return { cluster_name: clusterName, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] };
}
