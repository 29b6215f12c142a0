// The proxy that clients are told of: CONNECT tunnels go to the inner listener, absolute-form requests to origins in
// clear. Here a client's identity is taken, the policy decides first, and the rule's name is handed on.
import type { Cidr } from '../names/name-types.ts';
import type { ListenAddress, ProxyFront } from '../settings/gateway-spec.ts';
import { chainMatch, ownMachine } from './who-may-connect.ts';
import { accessLog } from './access-log-format.ts';
import { clientRateFilters } from './client-rate.ts';
import { clusterNames } from './clusters.ts';
import { explicitClientObjects, httpStateFilter, httpStateType, keptHere, ruleObject } from './filter-state.ts';
import { clearRoutes, http1Options, httpConnectionManager, policyFilter, virtualHost, type Plan } from './http-leg.ts';
import { extension, typed, type JsonObject } from './json.ts';
import { bufferBytes, firstByteTimeout, frontHandshakeTimeout, http2Limits, idleTimeout } from './limits.ts';
import { literalGuard } from './literal-guard.ts';
import { misdirected } from './local-replies.ts';
import { socketAddress } from './dns-cache.ts';
import { ownAddressFilters } from './own-address.ts';
import { requestToOwnPort } from './own-listeners.ts';
import { followedFile, followedFilter, resolveFile } from './rendered-files.ts';
import { resolveFilterName } from './resolve-filter.ts';
import { actorObjects, frontTls } from './proxy-front.ts';
import { selfCheckRefusal } from './self-check-routes.ts';

const explicitListenerName = 'explicit';
const frontName = 'explicit-tls';
const clientFilterName = 'client';
const ruleFilterName = 'rule';

/**
 * The proxy's listeners. With a certificate and no address of its own for TLS, the one listener speaks both: TLS to all
 * who may connect, and clear to this machine alone, for `run`, the probe and the self-check.
 */
export function explicitListeners(plan: Plan): readonly JsonObject[] {
  const { front, listen, allowFrom } = plan.spec;
  if (front === undefined) return [listener(explicitListenerName, listen, [clearChain(plan, allowFrom)])];
  if (front.listen === undefined) {
    const chains = [
      frontChain(plan, front),
      clearChain(plan, allowFrom.length === 0 ? [] : ownMachine(listen.address)),
    ];
    return [{ ...listener(explicitListenerName, listen, chains), ...toldApart, ...handshakeLog(plan) }];
  }
  return [
    listener(explicitListenerName, listen, [clearChain(plan, allowFrom)]),
    { ...listener(frontName, front.listen, [frontChain(plan, front)]), ...handshakeLog(plan) },
  ];
}

/** a handshake with the proxy that comes to nothing is seen by the listener alone */
function handshakeLog({ spec }: Plan): JsonObject {
  const ofFront = extension(
    'envoy.access_loggers.extension_filters.cel',
    'envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter',
    { expression: `xds.filter_chain_name == '${frontName}'` },
  );
  return { access_log: [accessLog('front', spec.paths.accessLog, { extension_filter: ofFront })] };
}

/** the first byte says which of the two a client speaks */
const toldApart: JsonObject = {
  listener_filters: [
    extension(
      'envoy.filters.listener.tls_inspector',
      'envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector',
    ),
  ],
  listener_filters_timeout: firstByteTimeout,
};

function listener(name: string, address: ListenAddress, chains: readonly JsonObject[]): JsonObject {
  return {
    name,
    stat_prefix: name,
    address: socketAddress(address),
    filter_chains: chains,
    per_connection_buffer_limit_bytes: bufferBytes,
  };
}

function clearChain(plan: Plan, allowFrom: readonly Cidr[]): JsonObject {
  const { front } = plan.spec;
  const isShared = front !== undefined && front.listen === undefined;
  return {
    ...chainMatch(allowFrom, isShared ? 'raw_buffer' : undefined),
    name: explicitListenerName,
    filters: [explicitConnectionManager(plan, explicitListenerName, [])],
  };
}

function frontChain(plan: Plan, front: ProxyFront): JsonObject {
  return {
    ...chainMatch(plan.spec.allowFrom, front.listen === undefined ? 'tls' : undefined),
    name: frontName,
    transport_socket_connect_timeout: frontHandshakeTimeout,
    transport_socket: frontTls(front, plan.spec.paths),
    filters: [explicitConnectionManager(plan, frontName, front.clientCaFile === undefined ? [] : actorObjects)],
  };
}

function explicitConnectionManager(plan: Plan, name: string, ofFront: readonly JsonObject[]): JsonObject {
  const { paths, selfCheck } = plan.spec;
  const clientObjects = [...explicitClientObjects, ...ofFront];
  const tunnel = connectRoute({ [clientFilterName]: clientObjects, [ruleFilterName]: [ruleObject] });
  return httpConnectionManager(plan, {
    name,
    accessLogs: [
      accessLog('connect', paths.accessLog, methodIsConnect(true)),
      accessLog('plain', paths.accessLog, methodIsConnect(false)),
    ],
    filters: [
      httpStateFilter(clientFilterName, clientObjects.map(keptHere)),
      ...clientRateFilters(plan.spec.limits.clientRate, ofFront.length > 0),
      followedFilter(resolveFilterName, httpStateType, followedFile(paths, resolveFile)),
      ...ownAddressFilters(plan.spec),
      policyFilter(plan),
      httpStateFilter(ruleFilterName, [keptHere(ruleObject)]),
      literalGuard(plan.spec),
    ],
    virtualHosts: [
      selfCheckRefusal(selfCheck.host, [tunnel]),
      virtualHost(
        'all',
        ['*'],
        [tunnel, noClearHttps, ...clearRoutes(clusterNames.originClear, requestToOwnPort(plan.spec))],
      ),
    ],
    fields: {
      http_protocol_options: { ...http1Options, allow_absolute_url: true },
      http2_protocol_options: { ...http2Limits, allow_connect: true },
      upgrade_configs: [{ upgrade_type: 'CONNECT' }, { upgrade_type: 'websocket' }],
      use_remote_address: true,
      access_log_options: { flush_log_on_tunnel_successfully_established: true },
    },
  });
}

/** over HTTP/2 a client may ask for an https URL without a CONNECT: what it wants encrypted must not leave in clear */
const noClearHttps: JsonObject = {
  match: { prefix: '/', headers: [{ name: ':scheme', string_match: { exact: 'https' } }] },
  direct_response: { status: misdirected },
};

/**
 * Only a tunnel hands its objects on, `objects` by the filter that sets them: an object that is handed on is part of the
 * upstream pool's key, so that each request in clear, with an id of its own, left an idle connection to its origin behind,
 * for as long as that kept it (measured).
 */
function connectRoute(objects: { readonly [filter: string]: readonly JsonObject[] }): JsonObject {
  const configurations = Object.entries(objects).map(([filter, shared]) => {
    return [filter, typed(httpStateType, { on_request_headers: shared })] as const;
  });
  return {
    match: { connect_matcher: {} },
    route: {
      cluster: clusterNames.inner,
      timeout: '0s',
      idle_timeout: idleTimeout,
      upgrade_configs: [{ upgrade_type: 'CONNECT', connect_config: {} }],
    },
    typed_per_filter_config: Object.fromEntries(configurations),
  };
}

function methodIsConnect(isConnect: boolean): JsonObject {
  // a request without a method is one that could not be read: it is no CONNECT, and it is logged
  const missing = isConnect ? {} : { invert_match: true, treat_missing_header_as_empty: true };
  return { header_filter: { header: { name: ':method', string_match: { exact: 'CONNECT' }, ...missing } } };
}
