// The inner chains that read HTTP: `intercept` ends the client's TLS with a leaf minted for its server name, `clear`
// takes plain HTTP inside a CONNECT. Both compare names, ask the policy again, and forward.
import { noSniHost } from '../settings/gateway-spec.ts';
import { accessLog } from './access-log-format.ts';
import { clusterNames } from './clusters.ts';
import { httpStateFilter, requestHostObject } from './filter-state.ts';
import {
  clearRoutes,
  domainsOf,
  httpConnectionManager,
  policyFilter,
  routeBy,
  routeTo,
  virtualHost,
  type Plan,
} from './http-leg.ts';
import { extension, type JsonObject } from './json.ts';
import { handshakeTimeout, idleInnerConnection } from './limits.ts';
import { literalGuard } from './literal-guard.ts';
import { clearComparison, interceptComparison, namesHttpFilter, type Comparison } from './name-comparison.ts';
import { tunnelToOwnPort } from './own-listeners.ts';
import { credentialFilters, picksCredential, toCredential, toCredentialOverHttp1 } from './origin-credentials.ts';
import { selfCheckRefusal } from './self-check-routes.ts';

export const chainNames = {
  intercept: 'intercept',
  clear: 'clear',
  relay: 'relay',
  relayOwnPorts: 'relay-own-ports',
  tcp: 'tcp',
  tcpOwnPorts: 'tcp-own-ports',
} as const;

export function interceptChain(plan: Plan): JsonObject {
  return {
    name: chainNames.intercept,
    transport_socket_connect_timeout: handshakeTimeout,
    transport_socket: mintingTls,
    filters: [
      httpConnectionManager(plan, {
        name: chainNames.intercept,
        idleConnection: idleInnerConnection,
        accessLogs: [accessLog('intercept', plan.spec.paths.accessLog)],
        filters: [...decidingFilters(plan, interceptComparison), ...credentialFilters(plan.spec)],
        virtualHosts: [
          virtualHost('self-check', domainsOf(plan.spec.selfCheck.host), [routeTo(clusterNames.selfCheck)]),
          virtualHost(
            'origins',
            ['*'],
            [
              routeBy(toCredentialOverHttp1, { ...picksCredential, ...isUpgrade }),
              routeBy(toCredential, picksCredential),
              routeTo(clusterNames.originTlsHttp1, isUpgrade),
              routeTo(clusterNames.originTls),
            ],
          ),
        ],
      }),
    ],
  };
}

/** an upgrade is an HTTP/1.1 matter: HTTP/2 origins would need extended CONNECT */
const isUpgrade: JsonObject = { headers: [{ name: 'upgrade', present_match: true }] };

export function clearChain(plan: Plan): JsonObject {
  return {
    name: chainNames.clear,
    filters: [
      httpConnectionManager(plan, {
        name: chainNames.clear,
        idleConnection: idleInnerConnection,
        accessLogs: [accessLog('clear', plan.spec.paths.accessLog)],
        filters: decidingFilters(plan, clearComparison),
        virtualHosts: [
          selfCheckRefusal(plan.spec.selfCheck.host),
          virtualHost('origins', ['*'], clearRoutes(clusterNames.originClearAsAsked, tunnelToOwnPort(plan.spec))),
        ],
      }),
    ],
  };
}

/** a request is known by one name, or refused, before it is judged */
function decidingFilters(plan: Plan, names: Comparison): readonly JsonObject[] {
  return [
    httpStateFilter('names', [requestHostObject, names.object]),
    namesHttpFilter(names),
    policyFilter(plan),
    literalGuard(plan.spec),
  ];
}

/**
 * Asks our SDS for a leaf at handshake time. Both resumptions off: the selector demands it, and a resumed session would
 * carry one name's leaf to another. All users of ADS give the same `config_source`, or names hang (envoy #47309).
 */
const mintingTls = extension(
  'envoy.transport_sockets.tls',
  'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext',
  {
    disable_stateless_session_resumption: true,
    disable_stateful_session_resumption: true,
    common_tls_context: {
      alpn_protocols: ['h2', 'http/1.1'],
      custom_tls_certificate_selector: extension(
        'envoy.tls.certificate_selectors.on_demand_secret',
        'envoy.extensions.transport_sockets.tls.cert_selectors.on_demand_secret.v3.Config',
        {
          config_source: { resource_api_version: 'V3', ads: {} },
          certificate_mapper: extension(
            'envoy.tls.certificate_mappers.sni',
            'envoy.extensions.transport_sockets.tls.cert_mappers.sni.v3.SNI',
            { default_value: noSniHost },
          ),
        },
      ),
    },
  },
);
