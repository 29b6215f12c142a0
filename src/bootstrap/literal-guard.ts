// The destination guard for hosts that are addresses already: refused from filter state, before the DNS cache, which a
// client could fill with them until no new name finds room (21,000 did, for a minute). Names are judged in the cache.
import { refusedDestinations, addressRange } from './dns-cache.ts';
import type { GatewaySpec } from '../settings/gateway-spec.ts';
import { stateKeys } from './filter-state.ts';
import { extension, type JsonObject } from './json.ts';
import { addressFormRuleName, guardedAddressRuleName } from './local-replies.ts';
import { hostTree, rbacAction, stateInput } from './policy-filter.ts';

/**
 * What only some readers take for an IPv4 address: leading zeros (octal to some, RFC 6943 3.1.1), hexadecimal, one number,
 * fewer than four. No DNS name ends in such a label (URL Standard, "ends in a number checker").
 */
const endsInNumber = String.raw`(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)`;
const octet = '(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])';
const dottedDecimal = String.raw`(?:${octet}\.){3}${octet}`;

/** After the policy, so that a rule that refuses the address is named; no rule can open what this refuses. */
export function literalGuard({ allowDestinations }: Pick<GatewaySpec, 'allowDestinations'>): JsonObject {
  const ranges = refusedDestinations(allowDestinations).map(addressRange);
  return extension('literal-guard', 'envoy.extensions.filters.http.rbac.v3.RBAC', {
    // also the prefix of the metadata it leaves, which must not hide that of the policy
    rules_stat_prefix: 'destination_',
    matcher: ranges.length === 0 ? formMatcher : { ...guardedTree(ranges), on_no_match: { matcher: formMatcher } },
  });
}

const formMatcher: JsonObject = {
  matcher_list: {
    matchers: [
      {
        predicate: {
          and_matcher: { predicate: [hostMatches(endsInNumber), { not_matcher: hostMatches(dottedDecimal) }] },
        },
        on_match: rbacAction(addressFormRuleName, 'DENY'),
      },
    ],
  },
  on_no_match: rbacAction('open', 'ALLOW'),
};

function guardedTree(ranges: readonly JsonObject[]): JsonObject {
  return hostTree('envoy.matching.custom_matchers.ip_range_matcher', 'xds.type.matcher.v3.IPMatcher', {
    range_matchers: [{ ranges, on_match: rbacAction(guardedAddressRuleName, 'DENY') }],
  });
}

/** the whole host must match */
function hostMatches(regex: string): JsonObject {
  const valueMatch = { safe_regex: { google_re2: {}, regex } };
  return { single_predicate: { input: stateInput(stateKeys.host), value_match: valueMatch } };
}
