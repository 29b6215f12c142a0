// Every bound that the generated configuration puts on clients and origins, and the guard of Envoy's own memory.
// Measured on 1.40.0: an idle tunnel costs 61 to 73 KB.
import type { GatewayLimits } from '../settings/gateway-spec.ts';
import { extension, type JsonObject } from './json.ts';

/** of one connection, each way; Envoy's default is 1 MiB */
export const bufferBytes = 65_536;

/** a stream without a byte for this long is closed; tunnels too, since nothing else bounds them */
export const idleTimeout = '3600s';

/**
 * Connections without an open stream hold a place among `--max-connections` for nothing. To the proxy they get what a first byte
 * gets; inside a tunnel five minutes, as long as browsers keep theirs: gRPC and HTTP/2 clients are told before it is closed.
 */
export const idleProxyConnection = '60s';
export const idleInnerConnection = '300s';

/**
 * Whoever resets a CONNECT at once leaves the connection behind that was made for it, as far as the origin where a rule forwards
 * bytes: by default for ten minutes, and beside `--max-connections`, which counts those of clients (measured).
 */
export const idleTunnelConnection = '1s';

/** how long a client may wait for its leaf (Envoy would wait for ever) */
export const handshakeTimeout = '5s';

/** how long a handshake with the proxy itself may take */
export const frontHandshakeTimeout = '10s';

/** browsers open connections to a proxy ahead of need: one that has shown nothing by then is closed */
export const firstByteTimeout = '60s';

export const originConnectTimeout = '5s';

/** Until then a client must show TLS or HTTP; a server that speaks first is reached after it, by a `tcp:` rule only. */
export const inspectionTimeout = '1s';

/**
 * The same for a redirected connection, where a ClientHello that comes later is taken for one without a name, and refused: a
 * busy client needs more than a second now and then (seen). A server that speaks first waits for both.
 */
export const redirectedInspectionTimeout = '2s';

export const requestHeadersTimeout = '15s';

/** browsers send up to 64 KiB of cookies to one host; Envoy's default is 60 */
export const maxRequestHeadersKb = 96;
export const maxHeaderCount = 200;
/**
 * Of connections to origins. By default a response with 101 headers is a 502 (measured), and a connection that nobody uses is
 * kept for an hour: a descriptor for each host that was ever asked for, and by then mostly dead on the other side. Common
 * servers keep theirs for 60 s or more.
 */
export const originHttpLimits: JsonObject = {
  max_headers_count: maxHeaderCount,
  max_response_headers_kb: maxRequestHeadersKb,
  idle_timeout: '55s',
};

export const http2Limits = {
  max_concurrent_streams: 100,
  initial_stream_window_size: 65_536,
  initial_connection_window_size: 1_048_576,
};

/**
 * Above whatever the connection limit lets in: Envoy's default of 1,024 refuses with an empty close. A tunnel has an
 * upstream pool of its own, which may always open its first connection, so that breakers protect nothing here.
 */
export const openCircuitBreakers: JsonObject = {
  thresholds: [{ max_connections: 65_536, max_pending_requests: 65_536, max_requests: 65_536, max_retries: 1024 }],
};

/** prefix of the statistics of `--client-rate` */
export const clientRateStats = 'client_rate';

const downstreamConnections = 'envoy.resource_monitors.global_downstream_max_connections';
const heap = 'envoy.resource_monitors.fixed_heap';

/**
 * More than one client can fill: what it asks for at its rate is forgotten within 90 s. 1.3 KB a name that does not exist
 * (measured), so 130 MB when full.
 */
export const maxCachedNames = 100_000;

/** Inner connections are not counted by the connection limit (measured), so that it is the number of clients. */
export function overloadManager(limits: GatewayLimits): JsonObject {
  return {
    refresh_interval: '0.25s',
    resource_monitors: [
      extension(
        downstreamConnections,
        'envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig',
        { max_active_downstream_connections: limits.maxConnections },
      ),
      extension(heap, 'envoy.extensions.resource_monitors.fixed_heap.v3.FixedHeapConfig', {
        max_heap_size_bytes: limits.maxHeapBytes,
      }),
    ],
    actions: [
      heapAction('shrink_heap', 0.8),
      heapAction('disable_http_keepalive', 0.85),
      // clients are told of this one; of the next they only notice that nobody answers, so that there is room between
      heapAction('stop_accepting_requests', 0.9),
      heapAction('stop_accepting_connections', 0.98),
    ],
  };
}

function heapAction(action: string, threshold: number): JsonObject {
  return { name: `envoy.overload_actions.${action}`, triggers: [{ name: heap, threshold: { value: threshold } }] };
}
