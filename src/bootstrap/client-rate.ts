// How many requests one client may bring to the proxy: CONNECTs and requests in clear, each counted before anything is done
// for it. A client is its verified actor, else its address. What is inside a tunnel is not counted.
import type { ClientRate } from '../settings/gateway-spec.ts';
import { stateKeys } from './filter-state.ts';
import { extension, type JsonObject } from './json.ts';
import { clientRateStats } from './limits.ts';

/** clients whose rate is followed; the one that came least recently makes way, with a full allowance when it is back */
const maxClients = 20_000;
/** what no client's bucket decides is let through */
const unlimited = 1_000_000_000;

const always: JsonObject = { default_value: { numerator: 100, denominator: 'HUNDRED' } };

/** IPv6 hosts have a /64 to themselves (RFC 6177 2), and could come from another address each time */
const byAddress: JsonObject = { masked_remote_address: { v4_prefix_mask_len: 32, v6_prefix_mask_len: 64 } };
const addressKey = 'masked_remote_address';

/** `redirected`: by the address of the client that the system redirected, whose connection comes from Envoy itself */
export type CountedBy = 'address' | 'actor' | 'redirected';

/** After the client's objects, before the policy. Token buckets are shared by all workers of Envoy. */
export function clientRateFilters(rate: ClientRate | undefined, by: CountedBy): readonly JsonObject[] {
  if (rate === undefined) return [];
  const bucket = { max_tokens: rate.burst, tokens_per_fill: rate.perSecond, fill_interval: '1s' };
  const filter = extension('client-rate', 'envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit', {
    stat_prefix: clientRateStats,
    filter_enabled: always,
    filter_enforced: always,
    token_bucket: { max_tokens: unlimited, tokens_per_fill: unlimited, fill_interval: '1s' },
    always_consume_default_token_bucket: false,
    max_dynamic_descriptors: maxClients,
    ...countedBy(by, bucket),
  });
  return [filter];
}

function countedBy(by: CountedBy, bucket: JsonObject): JsonObject {
  switch (by) {
    case 'address':
      return countedByOne(byAddress, addressKey, bucket);
    case 'redirected':
      return countedByOne(celAction(addressKey, `filter_state['${stateKeys.redirectedNetwork}']`), addressKey, bucket);
    case 'actor':
      return countedByActor(bucket);
    default:
      return by satisfies never;
  }
}

/** an entry without a value has a bucket for each value that comes */
function countedByOne(action: JsonObject, key: string, bucket: JsonObject): JsonObject {
  return {
    rate_limits: [{ actions: [action] }],
    descriptors: [{ entries: [{ key }], token_bucket: bucket }],
  };
}

/** with one of the two, never both: many actors may come from one address */
function countedByActor(bucket: JsonObject): JsonObject {
  const kind = celAction(kindKey, `'${stateKeys.actor}' in filter_state ? 'actor' : 'address'`);
  const actor = celAction('actor', `filter_state['${stateKeys.actor}']`);
  return {
    rate_limits: [{ actions: [kind, actor] }, { actions: [kind, byAddress] }],
    descriptors: [
      { entries: [{ key: kindKey, value: 'actor' }, { key: 'actor' }], token_bucket: bucket },
      { entries: [{ key: kindKey, value: 'address' }, { key: addressKey }], token_bucket: bucket },
    ],
  };
}

const kindKey = 'kind';

/** an expression that fails drops its descriptor */
function celAction(key: string, text: string): JsonObject {
  const type = 'envoy.extensions.rate_limit_descriptors.expr.v3.Descriptor';
  return { extension: extension('envoy.rate_limit_descriptors.expr', type, { descriptor_key: key, text }) };
}
