// The inner chains that forward bytes unread, each chosen by a rule only: `relay` for TLS whose server name is the
// CONNECT's host, `tcp` for anything. Both resolve through the guarded DNS cache.
import { accessLog } from './access-log-format.ts';
import { clusterNames } from './clusters.ts';
import { networkStateFilter } from './filter-state.ts';
import { chainNames } from './http-chains.ts';
import type { Plan } from './http-leg.ts';
import { extension, type JsonObject } from './json.ts';
import { idleTimeout } from './limits.ts';
import { namesNetworkFilter, relayComparison } from './name-comparison.ts';

export function relayChain(plan: Plan): JsonObject {
  const comparing = [networkStateFilter([relayComparison.object]), namesNetworkFilter(relayComparison)];
  return { name: chainNames.relay, filters: [...comparing, ...forwarding(plan, chainNames.relay)] };
}

export function tcpChain(plan: Plan): JsonObject {
  return { name: chainNames.tcp, filters: forwarding(plan, chainNames.tcp) };
}

/**
 * The CONNECT's host and port, from filter state, are dialled: the forward proxy prefers them to the server name. It has
 * to run before the TCP proxy, or the first connection to each new host fails (measured).
 */
function forwarding(plan: Plan, name: string): readonly JsonObject[] {
  const forwardProxy = 'envoy.extensions.filters.network.sni_dynamic_forward_proxy.v3.FilterConfig';
  return [
    extension('envoy.filters.network.sni_dynamic_forward_proxy', forwardProxy, {
      port_value: 443,
      dns_cache_config: plan.dnsCache,
    }),
    extension('envoy.filters.network.tcp_proxy', 'envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy', {
      stat_prefix: name,
      cluster: clusterNames.originTcp,
      idle_timeout: idleTimeout,
      access_log: [accessLog('tcp', plan.spec.paths.accessLog)],
    }),
  ];
}
