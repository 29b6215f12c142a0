// The proxy that clients are told of: CONNECT tunnels go to the inner listener, absolute-form requests to origins in
// clear. Here a client's identity is taken, the policy decides first, and the rule's name is handed on.
import { connectingFrom } from './who-may-connect.ts';
import { accessLog } from './access-log-format.ts';
import { clusterNames } from './clusters.ts';
import { explicitClientObjects, httpStateFilter, httpStateType, ruleObject } from './filter-state.ts';
import { clearRoutes, httpConnectionManager, policyFilter, virtualHost, type Plan } from './http-leg.ts';
import type { JsonObject } from './json.ts';
import { bufferBytes, http2Limits, idleTimeout } from './limits.ts';
import { literalGuard } from './literal-guard.ts';
import { socketAddress } from './dns-cache.ts';
import { ownAddressFilters } from './own-address.ts';
import { requestToOwnPort } from './own-listeners.ts';
import { followedFile, followedFilter, resolveFile } from './rendered-files.ts';
import { resolveFilterName } from './resolve-filter.ts';
import { selfCheckRefusal } from './self-check-routes.ts';

const explicitListenerName = 'explicit';

export function explicitListener(plan: Plan): JsonObject {
  return {
    name: explicitListenerName,
    stat_prefix: explicitListenerName,
    address: socketAddress(plan.spec.listen),
    filter_chains: [{ ...connectingFrom(plan.spec.allowFrom), filters: [explicitConnectionManager(plan)] }],
    per_connection_buffer_limit_bytes: bufferBytes,
  };
}

function explicitConnectionManager(plan: Plan): JsonObject {
  const { paths, selfCheck } = plan.spec;
  return httpConnectionManager(plan, {
    name: explicitListenerName,
    accessLogs: [
      accessLog('connect', paths.accessLog, methodIsConnect(true)),
      accessLog('plain', paths.accessLog, methodIsConnect(false)),
    ],
    filters: [
      httpStateFilter('client', explicitClientObjects),
      followedFilter(resolveFilterName, httpStateType, followedFile(paths, resolveFile)),
      ...ownAddressFilters(plan.spec),
      policyFilter(plan),
      httpStateFilter('rule', [ruleObject]),
      literalGuard(plan.spec),
    ],
    virtualHosts: [
      selfCheckRefusal(selfCheck.host, [connectRoute]),
      virtualHost('all', ['*'], [connectRoute, noClearHttps, ...clearRoutes(requestToOwnPort(plan.spec))]),
    ],
    fields: {
      // `openssl s_client -proxy` speaks HTTP/1.0
      http_protocol_options: { allow_absolute_url: true, accept_http_10: true },
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
  direct_response: { status: 421 },
};

const connectRoute: JsonObject = {
  match: { connect_matcher: {} },
  route: {
    cluster: clusterNames.inner,
    timeout: '0s',
    idle_timeout: idleTimeout,
    upgrade_configs: [{ upgrade_type: 'CONNECT', connect_config: {} }],
  },
};

function methodIsConnect(isConnect: boolean): JsonObject {
  const header = { name: ':method', string_match: { exact: 'CONNECT' }, invert_match: !isConnect };
  return { header_filter: { header } };
}
