// Reading what a leafgate gateway says when it answers by itself: the rule and the error word, from the header and the
// JSON body that its Envoy configuration gives. What a peer sent is bounded and made printable. Pure.
import type { GatewayRefusal } from './fetch-result.ts';
import { printable } from '../errors.ts';

export const ruleHeader = 'x-leafgate-rule';
/** enough for the gateway's JSON (under 1 KiB); what is longer is somebody else's page */
export const maxRefusalBytes = 8192;

/** the error words of the gateway's local replies; a server's own JSON errors must not be taken for the gateway's */
const gatewayErrors: ReadonlySet<string> = new Set(['blocked_by_policy', 'destination_denied', 'egress_error']);

/** Undefined when the answer shows no sign of a gateway. `body` may be cut off. */
export function readGatewayRefusal(rule: string | undefined, body: Uint8Array): GatewayRefusal | undefined {
  const json = parseObject(body);
  const error = textField(json, 'error');
  const isGatewayError = error !== undefined && gatewayErrors.has(error);
  const named = rule ?? (isGatewayError ? textField(json, 'rule') : undefined);
  if (named === undefined && !isGatewayError) return undefined;
  return {
    ...(named === undefined || named === '' ? {} : { rule: printable(named) }),
    ...(isGatewayError ? { error } : {}),
  };
}

function parseObject(body: Uint8Array): object | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function textField(json: object | undefined, field: string): string | undefined {
  if (json === undefined) return undefined;
  const value: unknown = new Map<string, unknown>(Object.entries(json)).get(field);
  return typeof value === 'string' ? value : undefined;
}
