// The inner listener: every tunnel arrives here, shows its protocol, and goes to the chain that its rule chose. What
// matches no chain is closed: with an opaque fallback a client that waits before its ClientHello walks out unread
// (hole H1, measured).
import { accessLog } from './access-log-format.ts';
import { innerListenerName } from './clusters.ts';
import { stateKeys } from './filter-state.ts';
import { chainNames, clearChain, interceptChain } from './http-chains.ts';
import type { Plan } from './http-leg.ts';
import { extension, typed, type JsonObject } from './json.ts';
import { bufferBytes, inspectionTimeout } from './limits.ts';
import { stateInput } from './policy-filter.ts';
import { relayChain, tcpChain } from './tcp-chains.ts';

export function innerListener(plan: Plan): JsonObject {
  return {
    name: innerListenerName,
    stat_prefix: innerListenerName,
    internal_listener: {},
    listener_filters_timeout: inspectionTimeout,
    // so that a `tcp:` rule reaches servers that speak first; for all others no chain matches, and the connection closes
    continue_on_listener_filters_timeout: true,
    listener_filters: [
      extension(
        'envoy.filters.listener.tls_inspector',
        'envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector',
      ),
      extension(
        'envoy.filters.listener.http_inspector',
        'envoy.extensions.filters.listener.http_inspector.v3.HttpInspector',
      ),
    ],
    access_log: [accessLog('listener', plan.spec.paths.accessLog)],
    filter_chains: [relayChain(plan), interceptChain(plan), clearChain(plan), tcpChain(plan)],
    filter_chain_matcher: { matcher_list: { matchers: chainChoice } },
    per_connection_buffer_limit_bytes: bufferBytes,
  };
}

const isTls = matches('envoy.extensions.matching.common_inputs.network.v3.TransportProtocolInput', { exact: 'tls' });

/** the order is the rule: `tcp:` takes everything, TLS too; a `relay:` rule relays TLS and nothing else */
const chainChoice: readonly JsonObject[] = [
  chosen(chainNames.tcp, ruleStartsWith('tcp:')),
  chosen(chainNames.relay, { and_matcher: { predicate: [isTls, ruleStartsWith('relay:')] } }),
  chosen(chainNames.intercept, isTls),
  chosen(chainNames.clear, applicationProtocolContains('http/1')),
  chosen(chainNames.clear, applicationProtocolContains('h2c')),
];

function chosen(chain: string, predicate: JsonObject): JsonObject {
  return {
    predicate,
    on_match: { action: { name: chain, typed_config: typed('google.protobuf.StringValue', { value: chain }) } },
  };
}

function ruleStartsWith(prefix: string): JsonObject {
  return { single_predicate: { input: stateInput(stateKeys.rule), value_match: { prefix } } };
}

function applicationProtocolContains(contains: string): JsonObject {
  return matches('envoy.extensions.matching.common_inputs.network.v3.ApplicationProtocolInput', { contains });
}

function matches(inputType: string, valueMatch: JsonObject): JsonObject {
  return { single_predicate: { input: extension('input', inputType), value_match: valueMatch } };
}
