// The built-in origin is reached through the intercept chain only; legs that do not decrypt refuse its name.
import { domainsOf, virtualHost } from './http-leg.ts';
import type { JsonObject } from './json.ts';
import { misdirected } from './local-replies.ts';

/** 421: this leg has no answer for that authority. `before` are routes of a leg that still hold for the name, such as CONNECT */
export function selfCheckRefusal(host: string, before: readonly JsonObject[] = []): JsonObject {
  const refusal = { match: { prefix: '/' }, direct_response: { status: misdirected } };
  return virtualHost('self-check', domainsOf(host), [...before, refusal]);
}
