// What a client is told when the gateway answers by itself: JSON with a stable word, the host and the id of the record.
// Never Envoy's transport text: it can quote what an origin sent. The record has it.
import { errorHeader, gatewayErrorWords, ruleHeader, type GatewayErrorWord } from '../settings/gateway-answers.ts';
import { stateKeys, stateText } from './filter-state.ts';
import { extension, type JsonObject } from './json.ts';

/** RBAC policies that are not a person's rules */
export const namesRuleName = 'name-mismatch';
export const ownAddressRuleName = 'gateway-itself';

/** The rule's name comes from the details: RBAC's metadata is not yet set when a refusal's reply is built (measured). */
const refusingRule = String.raw`%CEL(re.extract(response.code_details, 'matched_policy.(.*).$', '\\1'))%`;

const failedStatus = 502;

const anyError: JsonObject = {
  status_code_filter: { comparison: { op: 'GE', value: { default_value: 400, runtime_key: 'leafgate.unused' } } },
};

/** the first mapper that fits answers */
export const localReplies: JsonObject = {
  mappers: [
    reply(gatewayErrorWords.destination, detailsContain('address_denied'), { status: 403 }),
    reply(gatewayErrorWords.destination, detailsContain(`[${ownAddressRuleName}]`), { status: 403 }),
    reply(gatewayErrorWords.names, detailsContain(`[${namesRuleName}]`), { status: 403 }),
    reply(gatewayErrorWords.policy, detailsContain('rbac_access_denied'), { status: 403, rule: refusingRule }),
    reply(gatewayErrorWords.origin, responseFlags('UF'), { status: failedStatus }),
    reply(gatewayErrorWords.dns, responseFlags('DF'), { status: failedStatus }),
    reply(gatewayErrorWords.other, anyError, {}),
  ],
};

function reply(
  word: GatewayErrorWord,
  filter: JsonObject,
  { status, rule }: { readonly status?: number; readonly rule?: string },
): JsonObject {
  return {
    filter,
    ...(status === undefined ? {} : { status_code: status }),
    body_format_override: body(word, rule),
    headers_to_add: [header(errorHeader, word), ...(rule === undefined ? [] : [header(ruleHeader, rule)])],
  };
}

function body(word: GatewayErrorWord, rule: string | undefined): JsonObject {
  const format = {
    error: word,
    ...(rule === undefined ? {} : { rule }),
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
