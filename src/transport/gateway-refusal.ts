// Reading what a leafgate gateway says when it answers by itself: the rule and the error word, from its headers or the
// JSON body. What a peer sent is bounded and made printable. Pure.
import { printable } from '../errors.ts';
import { causeHeader, errorHeader, gatewayErrorWords, ruleHeader } from '../settings/gateway-answers.ts';
import { isOriginCause } from '../settings/origin-causes.ts';
import type { GatewayRefusal } from './fetch-result.ts';

/** enough for the gateway's JSON (under 1 KiB); what is longer is somebody else's page */
export const maxRefusalBytes = 8192;

export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** a server's own JSON errors must not be taken for the gateway's */
const gatewayErrors: ReadonlySet<string> = new Set(Object.values(gatewayErrorWords));

/** Undefined when the answer shows no sign of a gateway. `body` may be cut off. */
export function readGatewayRefusal(headers: AnswerHeaders, body: Uint8Array): GatewayRefusal | undefined {
  const json = parseObject(body);
  const error = knownError(firstOf(headers[errorHeader])) ?? knownError(json.get('error'));
  const named = firstOf(headers[ruleHeader]) ?? (error === undefined ? undefined : json.get('rule'));
  const rule = typeof named === 'string' && named !== '' ? printable(named) : undefined;
  if (rule === undefined && error === undefined) return undefined;
  const cause = error === gatewayErrorWords.origin ? (firstOf(headers[causeHeader]) ?? json.get('cause')) : undefined;
  return {
    ...(rule === undefined ? {} : { rule }),
    ...(error === undefined ? {} : { error }),
    ...(isOriginCause(cause) ? { cause } : {}),
  };
}

export function firstOf(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}

function knownError(word: unknown): string | undefined {
  return typeof word === 'string' && gatewayErrors.has(word) ? word : undefined;
}

function parseObject(body: Uint8Array): ReadonlyMap<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
  } catch {
    return new Map();
  }
}
