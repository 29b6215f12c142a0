// Connections that the system redirects here from clients that know of no proxy. Each becomes a CONNECT to the gateway's own
// proxy, inside Envoy: to the server name that TLS shows, else to the address that the client meant. So the same policy,
// guard, overrides and records hold as for a CONNECT that a client sends, and a refusal ends the connection. Clear HTTP names
// its host in each request and is decided by that.
import type { GatewaySpec, TransparentListener } from '../settings/gateway-spec.ts';
import { accessLog, neverMatched } from './access-log-format.ts';
import {
  allOf,
  anyOf,
  chosen,
  destinationPortIn,
  isClearHttp,
  isMintableName,
  isTls,
  isWithoutName,
  protocolInspectors,
} from './chain-choice.ts';
import { clientRateFilters } from './client-rate.ts';
import { clusterNames, redirectedListenerName } from './clusters.ts';
import { addressRange, socketAddress } from './dns-cache.ts';
import {
  httpStateFilter,
  networkStateFilter,
  plainFormat,
  redirectedClientObjects,
  sharedObject,
  stateKeys,
  transparentHttpObjects,
} from './filter-state.ts';
import { httpConnectionManager, policyFilter, routeTo, virtualHost, type Plan } from './http-leg.ts';
import { extension, type JsonObject } from './json.ts';
import { bufferBytes, idleInnerConnection, idleTimeout, redirectedInspectionTimeout } from './limits.ts';
import { literalGuard } from './literal-guard.ts';
import { namesHttpFilter, portComparison } from './name-comparison.ts';
import { ownAddressFilters } from './own-address.ts';
import { openRequestsFilter } from './open-requests.ts';
import { ownPorts } from './own-listeners.ts';
import { proxyConnectionManager, resolveFilter } from './proxy-leg.ts';
import { selfCheckRefusal } from './self-check-routes.ts';
import { targetFormFilter } from './target-form.ts';

const transparentListenerName = 'transparent';
const chains = { byName: 'redirected-by-name', byAddress: 'redirected-by-address', http: 'redirected-http' } as const;

export function transparentListeners(plan: Plan): readonly JsonObject[] {
  const { transparent } = plan.spec;
  return transparent === undefined ? [] : [redirectTarget(plan, transparent), redirectedProxy(plan)];
}

function redirectTarget(plan: Plan, { addresses, port }: TransparentListener): JsonObject {
  const [first, ...more] = addresses.map((address) => socketAddress({ address, port }));
  return {
    name: transparentListenerName,
    stat_prefix: transparentListenerName,
    address: first ?? {},
    ...(more.length === 0 ? {} : { additional_addresses: more.map((address) => ({ address })) }),
    listener_filters_timeout: redirectedInspectionTimeout,
    // a client that shows nothing may have a server that speaks first: a `tcp:` rule for its address decides
    continue_on_listener_filters_timeout: true,
    listener_filters: [
      extension('envoy.filters.listener.original_dst', 'envoy.extensions.filters.listener.original_dst.v3.OriginalDst'),
      ...protocolInspectors,
    ],
    access_log: [accessLog('redirected', plan.spec.paths.accessLog, neverMatched)],
    filter_chains: [
      tunnelChain(chains.byName, '%REQUESTED_SERVER_NAME%:%DOWNSTREAM_LOCAL_PORT%'),
      tunnelChain(chains.byAddress, '%DOWNSTREAM_LOCAL_ADDRESS%'),
      { name: chains.http, filters: [clearConnectionManager(plan)] },
    ],
    filter_chain_matcher: fromAllowed(plan.spec, { matcher_list: { matchers: chainChoice(plan.spec, port) } }),
    per_connection_buffer_limit_bytes: bufferBytes,
  };
}

/** The peer's own address counts. Nobody is let in by having no list: the listener is on every address. */
function fromAllowed({ allowFrom }: GatewaySpec, matcher: JsonObject): JsonObject {
  const input = 'envoy.extensions.matching.common_inputs.network.v3.DirectSourceIPInput';
  const ranges = [{ ranges: allowFrom.map(addressRange), on_match: { matcher } }];
  const tree = extension('envoy.matching.custom_matchers.ip_range_matcher', 'xds.type.matcher.v3.IPMatcher', {
    range_matchers: ranges,
  });
  return { matcher_tree: { input: extension('source', input), custom_match: tree } };
}

/** What matches none is closed: a server name that is no host name, and what nobody has redirected. */
function chainChoice(spec: GatewaySpec, port: number): readonly JsonObject[] {
  // with its own port as the destination a connection was made to the gateway itself, and would lead back to it
  const isRedirected = { not_matcher: destinationPortIn([port]) };
  const isElsewhere = { not_matcher: destinationPortIn(ownPorts(spec)) };
  const isUnnamed = anyOf({ not_matcher: isTls }, isWithoutName);
  return [
    chosen(chains.byName, allOf(isRedirected, isTls, isMintableName)),
    chosen(chains.http, allOf(isElsewhere, isClearHttp)),
    chosen(chains.byAddress, allOf(isRedirected, isUnnamed, { not_matcher: isClearHttp })),
  ];
}

/** IPv6 hosts have a /64 to themselves (RFC 6177 2); of an IPv4 address the mask takes all 32 bits (measured) */
const clientNetwork = '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT(64)%';

/** The name is one that a host name may have, so that nothing in it can end the line of a request. */
function tunnelChain(name: string, authority: string): JsonObject {
  const client = sharedObject(stateKeys.redirectedClient, plainFormat('%DOWNSTREAM_REMOTE_ADDRESS%'));
  const network = sharedObject(stateKeys.redirectedNetwork, plainFormat(clientNetwork));
  return {
    name,
    filters: [
      networkStateFilter([client, network]),
      extension('envoy.filters.network.tcp_proxy', 'envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy', {
        stat_prefix: name,
        cluster: clusterNames.redirected,
        idle_timeout: idleTimeout,
        tunneling_config: { hostname: authority },
      }),
    ],
  };
}

/** the proxy that takes those CONNECTs: no other can reach it */
function redirectedProxy(plan: Plan): JsonObject {
  return {
    name: redirectedListenerName,
    stat_prefix: redirectedListenerName,
    internal_listener: {},
    filter_chains: [
      {
        name: redirectedListenerName,
        filters: [
          proxyConnectionManager(plan, redirectedListenerName, {
            objects: redirectedClientObjects,
            countedBy: 'redirected',
          }),
        ],
      },
    ],
    per_connection_buffer_limit_bytes: bufferBytes,
  };
}

/** Dials the host of each request, on the port that the client meant: whoever lies about the host does not reach another. */
function clearConnectionManager(plan: Plan): JsonObject {
  const { paths, selfCheck, limits } = plan.spec;
  return httpConnectionManager(plan, {
    name: transparentListenerName,
    idleConnection: idleInnerConnection,
    accessLogs: [accessLog('plain', paths.accessLog)],
    filters: [
      httpStateFilter('client', transparentHttpObjects),
      ...clientRateFilters(limits.clientRate, 'address'),
      openRequestsFilter(limits.maxConnections),
      httpStateFilter('names', [portComparison.object]),
      namesHttpFilter(portComparison),
      targetFormFilter,
      resolveFilter(paths),
      ...ownAddressFilters(plan.spec),
      policyFilter(plan),
      literalGuard(plan.spec),
    ],
    virtualHosts: [
      selfCheckRefusal(selfCheck.host),
      virtualHost('origins', ['*'], [routeTo(clusterNames.originClearAsAsked)]),
    ],
    fields: { use_remote_address: true },
  });
}
