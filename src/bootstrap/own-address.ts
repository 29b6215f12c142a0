// A request to the gateway's own address would go round and round: it reaches the listener as a new request, with the same
// target. It is refused, by the address that would be dialled, so that `--resolve` cannot hide it; a name that DNS points at
// the gateway is caught by the destination guard, unless an exception opens that address.
import { isIpv6, isUnspecified } from '../names/ip-address.ts';
import type { IpAddress } from '../names/name-types.ts';
import type { GatewaySpec, ListenAddress } from '../settings/gateway-spec.ts';
import { cel, celFormat, dynamicHost, httpStateFilter, ownObject, stateKeys } from './filter-state.ts';
import { extension, type JsonObject } from './json.ts';
import { ownAddressRuleName } from './local-replies.ts';

/** Right after the override filter, before the policy: no rule can open it. */
export function ownAddressFilters(spec: GatewaySpec): readonly JsonObject[] {
  const { listen, front, ownAddresses } = spec;
  const listeners = [listen, ...(front?.listen === undefined ? [] : [front.listen])];
  const isOwn = listeners.map((listener) => isListener(listener, ownAddresses)).join(' || ');
  return [
    httpStateFilter('own-address', [ownObject(stateKeys.isOwnAddress, celFormat(cel(isOwn)))]),
    extension('envoy.filters.http.rbac', 'envoy.extensions.filters.http.rbac.v3.RBAC', {
      rules_stat_prefix: 'own_address_',
      rules: {
        action: 'DENY',
        policies: { [ownAddressRuleName]: { permissions: [{ any: true }], principals: [{ filter_state: isTrue }] } },
      },
    }),
  ];
}

const isTrue: JsonObject = { key: stateKeys.isOwnAddress, string_match: { exact: 'true' } };

function isListener({ address, port }: ListenAddress, ownAddresses: readonly IpAddress[]): string {
  return `(string(filter_state['${stateKeys.port}']) == '${port}' && (${hostTest(address, ownAddresses)}))`;
}

function hostTest(listen: IpAddress, ownAddresses: readonly IpAddress[]): string {
  const dialled = `string(filter_state['${dynamicHost}'])`;
  const isEverywhere = isUnspecified(listen);
  const reached = [listen, ...(isEverywhere ? ownAddresses : [])];
  const addresses = reached.map((address) => (isIpv6(address) ? `[${address.text}]` : address.text));
  // names that every machine has for itself (RFC 6761 6.3; Debian's hosts file)
  const texts = [...addresses, 'localhost', 'ip6-localhost', 'ip6-loopback'].map((text) => `'${text}'`);
  const isListed = `${dialled} in [${texts.join(', ')}]`;
  // who listens on every address is reached at all of 127.0.0.0/8
  return isEverywhere && !isIpv6(listen) ? `${isListed} || ${dialled}.startsWith('127.')` : isListed;
}
