// A refusal by RBAC that no person wrote: one policy with one condition, whose name comes back in the response's details.
import type { JsonObject } from './json.ts';

/** `rules` of an RBAC filter, for HTTP or the network: refuses where `principal` holds, in the name of `rule`. */
export function denyWhere(rule: string, principal: JsonObject): JsonObject {
  return { action: 'DENY', policies: { [rule]: { permissions: [{ any: true }], principals: [principal] } } };
}
