// The target of a request must be a host and a port that exist, in the one form that everybody reads alike. Else the policy
// and Envoy's forward proxy would not mean the same: of `x.test:443:80` and `x.test:+443` the policy sees a host that no rule
// names while Envoy dials x.test:443, and in place of port 0 or 65979 it dials 443 or 80 (measured).
import { cel, celFormat, httpStateFilter, ownObject, stateKeys } from './filter-state.ts';
import { extension, type JsonObject } from './json.ts';
import { targetFormRuleName } from './local-replies.ts';

/** RFC 3986 3.2.2, without what no host name has and without the root alone; brackets are for IPv6 alone */
const host = String.raw`\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9_-][A-Za-z0-9._-]*`;
/** 1 to 65535 */
const port = '[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]';
const isWellFormed = `request.host.matches('^(${host})(:0*(${port}))?$')`;

/** On every leg that takes a target from a client, before anything is looked up or decided; no rule can open it. */
export const targetFormFilters: readonly JsonObject[] = [
  httpStateFilter('target-form', [ownObject(stateKeys.isTargetWellFormed, celFormat(cel(isWellFormed)))]),
  extension('envoy.filters.http.rbac', 'envoy.extensions.filters.http.rbac.v3.RBAC', {
    rules_stat_prefix: 'target_form_',
    rules: {
      action: 'DENY',
      policies: {
        [targetFormRuleName]: {
          permissions: [{ any: true }],
          principals: [
            { not_id: { filter_state: { key: stateKeys.isTargetWellFormed, string_match: { exact: 'true' } } } },
          ],
        },
      },
    },
  }),
];
