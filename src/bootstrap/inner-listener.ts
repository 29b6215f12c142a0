// The inner listener: every tunnel arrives here, shows its protocol, and goes to the chain that its rule chose. What
// matches no chain is closed: with an opaque fallback a client that waits before its ClientHello walks out unread
// (hole H1, measured).
import type { GatewaySpec } from '../settings/gateway-spec.ts';
import { accessLog } from './access-log-format.ts';
import {
  allOf,
  anyOf,
  chosen,
  isClearHttp,
  isMintableName,
  isTls,
  isWithoutName,
  protocolInspectors,
} from './chain-choice.ts';
import { innerListenerName } from './clusters.ts';
import { stateKeys } from './filter-state.ts';
import { chainNames, clearChain, interceptChain } from './http-chains.ts';
import type { Plan } from './http-leg.ts';
import type { JsonObject } from './json.ts';
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
    listener_filters: protocolInspectors,
    access_log: [accessLog('listener', plan.spec.paths.accessLog)],
    filter_chains: [...relayChains(plan), interceptChain(plan), clearChain(plan), ...tcpChains(plan)],
    filter_chain_matcher: { matcher_list: { matchers: chainChoice(plan.spec) } },
    per_connection_buffer_limit_bytes: bufferBytes,
  };
}

/** the order is the rule: `tcp:` takes everything, TLS too; a `relay:` rule relays TLS and nothing else */
function chainChoice(spec: GatewaySpec): readonly JsonObject[] {
  const toOwnPort = portIn(ownPorts(spec));
  return [
    chosen(chainNames.tcpOwnPorts, allOf(ruleStartsWith('tcp:'), toOwnPort)),
    chosen(chainNames.tcp, ruleStartsWith('tcp:')),
    chosen(chainNames.relayOwnPorts, allOf(isTls, ruleStartsWith('relay:'), toOwnPort)),
    chosen(chainNames.relay, allOf(isTls, ruleStartsWith('relay:'))),
    chosen(chainNames.intercept, allOf(isTls, anyOf(isMintableName, isWithoutName))),
    chosen(chainNames.clear, isClearHttp),
  ];
}

function portIn(ports: readonly number[]): JsonObject {
  const valueMatch = { safe_regex: { google_re2: {}, regex: ports.join('|') } };
  return { single_predicate: { input: stateInput(stateKeys.port), value_match: valueMatch } };
}

function ruleStartsWith(prefix: string): JsonObject {
  return { single_predicate: { input: stateInput(stateKeys.rule), value_match: { prefix } } };
}
