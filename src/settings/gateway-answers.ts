// What the gateway says when it answers in place of an origin. The generator of Envoy's files writes these words and the
// probe reads them, so that both import them from here.

/** header with the rule that refused, as `<verdict>:<name>`: clients mostly hide the body of a refused CONNECT */
export const ruleHeader = 'x-leafgate-rule';
/** header with the error word of every answer that is the gateway's own */
export const errorHeader = 'x-leafgate-error';
/** header with the cause, where the origin failed: an answer to HEAD has no body */
export const causeHeader = 'x-leafgate-cause';

/** field `error` of the JSON body */
export const gatewayErrorWords = {
  /** a rule refused; field `rule` names it */
  policy: 'blocked_by_policy',
  /** every address of the name is one that the destination guard refuses, or the gateway itself */
  destination: 'destination_denied',
  /** server name, CONNECT host and authority are not the same */
  names: 'name_mismatch',
  /** no answer from the origin; field `cause` says why, in a word of origin-causes.ts */
  origin: 'origin_failed',
  /** the client asked to change to a protocol that the gateway does not read */
  upgrade: 'upgrade_refused',
  /** an https URL was asked for without a CONNECT: it would leave in clear */
  tunnel: 'tunnel_required',
  /** the URL has a query and no path; the answer leads to the same one with its slash */
  path: 'path_missing',
  /** one client asks the proxy for more than `--client-rate` lets it */
  rate: 'client_rate_limited',
  /** a limit of the whole gateway is reached: memory, connections, or names that it remembers; another moment may do */
  overload: 'gateway_overloaded',
  /** headers that are too many or too long */
  tooLarge: 'request_too_large',
  /** anything else that Envoy answers by itself */
  other: 'egress_error',
} as const;

export type GatewayErrorWord = (typeof gatewayErrorWords)[keyof typeof gatewayErrorWords];
