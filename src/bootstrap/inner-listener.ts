// The inner listener: every tunnel arrives here, shows its protocol, and goes to the chain that its rule chose. What
// matches no chain is closed: with an opaque fallback a client that waits before its ClientHello walks out unread
// (hole H1, measured).
import type { GatewaySpec } from '../settings/gateway-spec.ts';
import { accessLog } from './access-log-format.ts';
import { innerListenerName } from './clusters.ts';
import { stateKeys } from './filter-state.ts';
import { chainNames, clearChain, interceptChain } from './http-chains.ts';
import type { Plan } from './http-leg.ts';
import { extension, typed, type JsonObject } from './json.ts';
import { bufferBytes, inspectionTimeout } from './limits.ts';
import { ownPorts } from './own-listeners.ts';
import { stateInput } from './policy-filter.ts';
import { relayChains, tcpChains } from './tcp-chains.ts';

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
    filter_chains: [...relayChains(plan), interceptChain(plan), clearChain(plan), ...tcpChains(plan)],
    filter_chain_matcher: { matcher_list: { matchers: chainChoice(plan.spec) } },
    per_connection_buffer_limit_bytes: bufferBytes,
  };
}

const isTls = matches('envoy.extensions.matching.common_inputs.network.v3.TransportProtocolInput', { exact: 'tls' });

/**
 * No server name, or one that a certificate can be asked for. What the selector asks for it asks for ever, and a name that is
 * not UTF-8 cannot even be answered (docs/decisions/0004), so others are closed before it: here a client chooses what Envoy
 * keeps. `\C` is any byte, also where the bytes are no UTF-8.
 */
const isMintableName: JsonObject = {
  or_matcher: {
    predicate: [serverNameMatches('[a-z0-9._-]{1,253}'), { not_matcher: serverNameMatches('\\C+') }],
  },
};

/** the order is the rule: `tcp:` takes everything, TLS too; a `relay:` rule relays TLS and nothing else */
function chainChoice(spec: GatewaySpec): readonly JsonObject[] {
  const toOwnPort = portIn(ownPorts(spec));
  return [
    chosen(chainNames.tcpOwnPorts, allOf(ruleStartsWith('tcp:'), toOwnPort)),
    chosen(chainNames.tcp, ruleStartsWith('tcp:')),
    chosen(chainNames.relayOwnPorts, allOf(isTls, ruleStartsWith('relay:'), toOwnPort)),
    chosen(chainNames.relay, allOf(isTls, ruleStartsWith('relay:'))),
    chosen(chainNames.intercept, allOf(isTls, isMintableName)),
    chosen(chainNames.clear, applicationProtocolContains('http/1')),
    chosen(chainNames.clear, applicationProtocolContains('h2c')),
  ];
}

function allOf(...predicate: readonly JsonObject[]): JsonObject {
  return { and_matcher: { predicate } };
}

function portIn(ports: readonly number[]): JsonObject {
  const valueMatch = { safe_regex: { google_re2: {}, regex: ports.join('|') } };
  return { single_predicate: { input: stateInput(stateKeys.port), value_match: valueMatch } };
}

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

/** the whole name must match; xds' own matcher wants its engine named */
function serverNameMatches(regex: string): JsonObject {
  const input = 'envoy.extensions.matching.common_inputs.network.v3.ServerNameInput';
  return matches(input, { safe_regex: { google_re2: {}, regex } });
}

function matches(inputType: string, valueMatch: JsonObject): JsonObject {
  return { single_predicate: { input: extension('input', inputType), value_match: valueMatch } };
}
