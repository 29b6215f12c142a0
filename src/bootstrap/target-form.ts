// The target of a request must be a host and a port that exist, in the one form that everybody reads alike. Else the policy
// and Envoy's forward proxy would not mean the same: of `x.test:443:80` and `x.test:+443` the policy sees a host that no rule
// names while Envoy dials x.test:443, and in place of port 0 or 65979 it dials 443 or 80 (measured).
import { denyWhere } from './denial.ts';
import { extension, type JsonObject } from './json.ts';
import { targetFormRuleName } from './local-replies.ts';

/** RFC 3986 3.2.2, without what no host name has and without the root alone; brackets are for IPv6 alone */
const host = String.raw`\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_-][A-Za-z0-9._-]*`;
/** 1 to 65535 */
const port = '[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]';

/** the whole of it must match; a request without one does not */
const isWellFormed: JsonObject = {
  header: {
    name: ':authority',
    string_match: { safe_regex: { google_re2: {}, regex: `(?:${host})(?::0*(?:${port}))?` } },
  },
};

/** On every leg that takes a target from a client, before anything is looked up or decided; no rule can open it. */
export const targetFormFilter: JsonObject = extension(
  'envoy.filters.http.rbac',
  'envoy.extensions.filters.http.rbac.v3.RBAC',
  { rules_stat_prefix: 'target_form_', rules: denyWhere(targetFormRuleName, { not_id: isWellFormed }) },
);
