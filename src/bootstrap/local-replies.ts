// What a client is told when the gateway answers by itself: JSON with a stable word, the host and the id of the record.
// Never Envoy's transport text: it can quote what an origin sent. The record has it.
import {
  causeHeader,
  errorHeader,
  gatewayErrorWords,
  ruleHeader,
  type GatewayErrorWord,
} from '../settings/gateway-answers.ts';
import { originCauseSigns, type OriginCause, type OriginCauseSign } from '../settings/origin-causes.ts';
import { stateKeys, stateText } from './filter-state.ts';
import { extension, type JsonObject } from './json.ts';
import { openRequestsDetails } from './open-requests.ts';

/** RBAC policies that are not a person's rules */
export const namesRuleName = 'name-mismatch';
export const ownAddressRuleName = 'gateway-itself';
export const guardedAddressRuleName = 'guarded-address';
export const addressFormRuleName = 'address-form';
export const targetFormRuleName = 'target-form';

/** The rule's name comes from the details: RBAC's metadata is not yet set when a refusal's reply is built (measured). */
const refusingRule = String.raw`%CEL(re.extract(response.code_details, 'matched_policy.(.*).$', '\\1'))%`;

const failedStatus = 502;
/** Envoy says 403 for these two, which is for what somebody refused (RFC 9110 15.6.2, 15.5.20) */
const notImplemented = 501;
export const misdirected = 421;

const anyError: JsonObject = statusIs('GE', 400);

/** Envoy refuses it over HTTP/1.1 by itself; over HTTP/2 a route of ours does */
const httpsInClear: JsonObject = {
  or_filter: {
    filters: [
      detailsContain('https_url_on_plaintext_connection'),
      {
        and_filter: {
          filters: [
            statusIs('EQ', misdirected),
            { header_filter: { header: { name: ':scheme', string_match: { exact: 'http' }, invert_match: true } } },
          ],
        },
      },
    ],
  },
};

/**
 * RFC 9112 3.2.1 wants `/?query` sent for `http://host?query`; Python's urllib sends it to a proxy as it stands. Envoy refuses such
 * a path before any filter (measured), so that it can only be sent back to the same URL with its slash.
 */
const queryWithoutPath: JsonObject = {
  and_filter: {
    filters: [
      detailsContain('absolute_path_rejected'),
      { header_filter: { header: { name: ':path', string_match: { prefix: '?' } } } },
    ],
  },
};
/** RFC 9110 15.4.8: with the same method and body, and not to be remembered */
const temporaryRedirect = 307;

/** RFC 6585 5 */
const headersTooLarge = 431;

function statusIs(op: 'GE' | 'EQ', status: number): JsonObject {
  return {
    status_code_filter: { comparison: { op, value: { default_value: status, runtime_key: 'leafgate.unused' } } },
  };
}

/** the first mapper that fits answers */
export const localReplies: JsonObject = {
  mappers: [
    ...originCauseSigns.filter(({ details }) => details !== undefined).map(originReply),
    reply(gatewayErrorWords.destination, detailsContain('address_denied'), { status: 403 }),
    ...[ownAddressRuleName, guardedAddressRuleName, addressFormRuleName, targetFormRuleName].map((rule) => {
      return reply(gatewayErrorWords.destination, detailsContain(`[${rule}]`), { status: 403 });
    }),
    reply(gatewayErrorWords.names, detailsContain(`[${namesRuleName}]`), { status: 403 }),
    reply(gatewayErrorWords.policy, detailsContain('rbac_access_denied'), { status: 403, rule: refusingRule }),
    reply(gatewayErrorWords.upgrade, detailsContain('upgrade_failed'), { status: notImplemented }),
    reply(gatewayErrorWords.tunnel, httpsInClear, { status: misdirected }),
    reply(gatewayErrorWords.path, queryWithoutPath, { status: temporaryRedirect, location: '/%REQ(:PATH)%' }),
    reply(gatewayErrorWords.rate, detailsContain('local_rate_limited'), { retryAfterSeconds: 1 }),
    reply(gatewayErrorWords.overload, detailsContain('overflow'), { status: 503, retryAfterSeconds: 5 }),
    reply(gatewayErrorWords.overload, detailsContain('overload'), { status: 503, retryAfterSeconds: 5 }),
    reply(gatewayErrorWords.overload, detailsContain(openRequestsDetails), { status: 503, retryAfterSeconds: 5 }),
    reply(gatewayErrorWords.overload, responseFlags('UO'), { status: 503, retryAfterSeconds: 5 }),
    reply(gatewayErrorWords.tooLarge, statusIs('EQ', headersTooLarge), {}),
    ...originCauseSigns.filter(({ flag }) => flag !== undefined).map(originReply),
    reply(gatewayErrorWords.other, anyError, {}),
  ],
};

/** a failure that is the origin's, never the gateway's own limits */
function originReply({ cause, details, flag }: OriginCauseSign): JsonObject {
  const filter = details === undefined ? responseFlags(flag) : detailsContain(details);
  return reply(gatewayErrorWords.origin, filter, { status: failedStatus, cause });
}

type ReplyParts = {
  readonly status?: number;
  readonly rule?: string;
  readonly cause?: OriginCause;
  readonly retryAfterSeconds?: number;
  readonly location?: string;
};

function reply(word: GatewayErrorWord, filter: JsonObject, parts: ReplyParts): JsonObject {
  const { status, rule, cause, retryAfterSeconds, location } = parts;
  return {
    filter,
    ...(status === undefined ? {} : { status_code: status }),
    body_format_override: body(word, parts),
    headers_to_add: [
      header(errorHeader, word),
      ...(rule === undefined ? [] : [header(ruleHeader, rule)]),
      ...(cause === undefined ? [] : [header(causeHeader, cause)]),
      ...(location === undefined ? [] : [header('location', location)]),
      // RFC 9110 10.2.3
      ...(retryAfterSeconds === undefined ? [] : [header('retry-after', String(retryAfterSeconds))]),
    ],
  };
}

function body(word: GatewayErrorWord, { rule, cause }: ReplyParts): JsonObject {
  const format = {
    error: word,
    ...(rule === undefined ? {} : { rule }),
    ...(cause === undefined ? {} : { cause }),
    status: '%RESPONSE_CODE%',
    host: stateText(stateKeys.host),
    id: stateText(stateKeys.id),
  };
  return { json_format: format, omit_empty_values: true };
}

function header(key: string, value: string): JsonObject {
  return { header: { key, value }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' };
}

function detailsContain(text: string): JsonObject {
  const expression = `response.code_details.contains('${text}')`;
  return {
    extension_filter: extension(
      'envoy.access_loggers.extension_filters.cel',
      'envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter',
      { expression },
    ),
  };
}

function responseFlags(...flags: readonly string[]): JsonObject {
  return { response_flag_filter: { flags } };
}
