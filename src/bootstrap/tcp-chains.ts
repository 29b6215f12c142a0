// The inner chains that forward bytes unread, each chosen by a rule only: `relay` for TLS whose server name is the
// CONNECT's host, `tcp` for anything. Both resolve through the guarded DNS cache.
import { accessLog } from './access-log-format.ts';
import { clusterNames } from './clusters.ts';
import { networkStateFilter } from './filter-state.ts';
import { chainNames } from './http-chains.ts';
import type { Plan } from './http-leg.ts';
import { extension, type JsonObject } from './json.ts';
import { bufferBytes, idleTimeout } from './limits.ts';
import { namesNetworkFilter, relayComparison } from './name-comparison.ts';

/** Two chains: the port decides which one, since a tunnel to the gateway itself must come to nothing. */
export function relayChains(plan: Plan): readonly JsonObject[] {
  const comparing = [networkStateFilter([relayComparison.object]), namesNetworkFilter(relayComparison)];
  return [chainNames.relay, chainNames.relayOwnPorts].map((name) => {
    return { name, filters: [...comparing, ...forwarding(plan, name, onceNamesAgree)] };
  });
}

export function tcpChains(plan: Plan): readonly JsonObject[] {
  return [chainNames.tcp, chainNames.tcpOwnPorts].map((name) => ({ name, filters: forwarding(plan, name) }));
}

const ownPortsChains: ReadonlySet<string> = new Set([chainNames.relayOwnPorts, chainNames.tcpOwnPorts]);

/**
 * The comparison runs at the client's first bytes. Without this the origin is dialled before them, and what it says first
 * reaches a client that lies about its name (measured). TLS is spoken by the client first, so that nobody waits for it.
 */
const onceNamesAgree: JsonObject = { upstream_connect_mode: 'ON_DOWNSTREAM_DATA', max_early_data_bytes: bufferBytes };

/**
 * The CONNECT's host and port, from filter state, are dialled: the forward proxy prefers them to the server name. It has
 * to run before the TCP proxy, or the first connection to each new host fails (measured).
 */
function forwarding(plan: Plan, name: string, more: JsonObject = {}): readonly JsonObject[] {
  const isForOwnPorts = ownPortsChains.has(name);
  const forwardProxy = 'envoy.extensions.filters.network.sni_dynamic_forward_proxy.v3.FilterConfig';
  return [
    extension('envoy.filters.network.sni_dynamic_forward_proxy', forwardProxy, {
      port_value: 443,
      dns_cache_config: isForOwnPorts ? plan.dnsCaches.ownPorts : plan.dnsCaches.egress,
    }),
    extension('envoy.filters.network.tcp_proxy', 'envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy', {
      stat_prefix: name,
      cluster: isForOwnPorts ? clusterNames.originTcpOwnPorts : clusterNames.originTcp,
      idle_timeout: idleTimeout,
      ...more,
      access_log: [accessLog('tcp', plan.spec.paths.accessLog)],
    }),
  ];
}
