// A request to the gateway's own address would go round and round: it reaches the listener as a new request, with the same
// target. It is refused here, by the address that would be dialled, so that `--resolve` cannot hide it. A name that DNS
// points at the gateway is refused when it is resolved, by the DNS cache for the gateway's own ports.
import { isIpv6 } from '../names/ip-address.ts';
import type { GatewaySpec } from '../settings/gateway-spec.ts';
import { denyWhere } from './denial.ts';
import { cel, celFormat, dynamicHost, httpStateFilter, ownObject, stateKeys } from './filter-state.ts';
import { extension, type JsonObject } from './json.ts';
import { ownAddressRuleName } from './local-replies.ts';
import { isListeningEverywhere, ownAddresses, ownPorts } from './own-listeners.ts';

/** Right after the override filter, before the policy: no rule can open it. */
export function ownAddressFilters(spec: GatewaySpec): readonly JsonObject[] {
  const ports = ownPorts(spec).map((port) => `'${port}'`);
  const isOwn = `${portInCel} in [${ports.join(', ')}] && (${hostTest(spec)})`;
  return [
    httpStateFilter('own-address', [ownObject(stateKeys.isOwnAddress, celFormat(cel(isOwn)))]),
    extension('envoy.filters.http.rbac', 'envoy.extensions.filters.http.rbac.v3.RBAC', {
      rules_stat_prefix: 'own_address_',
      rules: denyWhere(ownAddressRuleName, { filter_state: isTrue }),
    }),
  ];
}

const portInCel = `string(filter_state['${stateKeys.port}'])`;

const isTrue: JsonObject = { key: stateKeys.isOwnAddress, string_match: { exact: 'true' } };

function hostTest(spec: GatewaySpec): string {
  const dialled = `string(filter_state['${dynamicHost}'])`;
  const addresses = ownAddresses(spec).map((address) => (isIpv6(address) ? `[${address.text}]` : address.text));
  // names that every machine has for itself (RFC 6761 6.3; Debian's hosts file)
  const texts = [...addresses, 'localhost', 'ip6-localhost', 'ip6-loopback'].map((text) => `'${text}'`);
  const isListed = `${dialled} in [${texts.join(', ')}]`;
  // who listens on every address is reached at all of 127.0.0.0/8
  const isLoopback = isListeningEverywhere(spec) ? ` || ${dialled}.startsWith('127.')` : '';
  // where the client has reached us, it must not send us
  const isHere = spec.knowsOwnAddresses ? '' : ` || ${dialled} + ':' + ${portInCel} == destination.address`;
  return `${isListed}${isLoopback}${isHere}`;
}
