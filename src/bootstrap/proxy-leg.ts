// A proxy's HTTP, whoever reaches it: CONNECT tunnels go to the inner listener, absolute-form requests to origins in clear.
// Here a client's identity is taken, the policy decides first, and the rule's name is handed on.
import type { GatewayPaths } from '../settings/gateway-spec.ts';
import { accessLog } from './access-log-format.ts';
import { clientRateFilters, type CountedBy } from './client-rate.ts';
import { clusterNames } from './clusters.ts';
import { httpStateFilter, httpStateType, keptHere, ruleObject } from './filter-state.ts';
import { clearRoutes, http1Options, httpConnectionManager, policyFilter, virtualHost, type Plan } from './http-leg.ts';
import { typed, type JsonObject } from './json.ts';
import { http2Limits, idleProxyConnection, idleTimeout } from './limits.ts';
import { literalGuard } from './literal-guard.ts';
import { misdirected } from './local-replies.ts';
import { ownAddressFilters } from './own-address.ts';
import { requestToOwnPort } from './own-listeners.ts';
import { openRequestsFilter } from './open-requests.ts';
import { followedFile, followedFilter, resolveFile } from './rendered-files.ts';
import { resolveFilterName } from './resolve-filter.ts';
import { selfCheckRefusal } from './self-check-routes.ts';
import { targetFormFilter } from './target-form.ts';

const clientFilterName = 'client';
const ruleFilterName = 'rule';

/** What a leg knows of its clients, and what their rate is counted by. */
export type ProxyClients = { readonly objects: readonly JsonObject[]; readonly countedBy: CountedBy };

export function proxyConnectionManager(plan: Plan, name: string, clients: ProxyClients): JsonObject {
  const { objects: clientObjects } = clients;
  const { paths, selfCheck, limits } = plan.spec;
  const tunnel = connectRoute({ [clientFilterName]: clientObjects, [ruleFilterName]: [ruleObject] });
  return httpConnectionManager(plan, {
    name,
    idleConnection: idleProxyConnection,
    accessLogs: [
      accessLog('connect', paths.accessLog, methodIsConnect(true)),
      accessLog('plain', paths.accessLog, methodIsConnect(false)),
    ],
    filters: [
      httpStateFilter(clientFilterName, clientObjects.map(keptHere)),
      ...clientRateFilters(limits.clientRate, clients.countedBy),
      openRequestsFilter(limits.maxConnections),
      targetFormFilter,
      resolveFilter(paths),
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

/** the `--resolve` overrides */
export function resolveFilter(paths: GatewayPaths): JsonObject {
  return followedFilter(resolveFilterName, httpStateType, followedFile(paths, resolveFile));
}

/**
 * Over HTTP/2 a client may ask for an https URL without a CONNECT, or for any other scheme: what it wants encrypted must not
 * leave in clear.
 */
const noClearHttps: JsonObject = {
  match: { prefix: '/', headers: [{ name: ':scheme', string_match: { exact: 'http' }, invert_match: true }] },
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
