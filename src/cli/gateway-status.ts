// What a running gateway says of itself on `/status`, for `leafgate status` and `leafgate doctor`: one value, written here
// and read back by the same schema. Counts are not in it: those are metrics.
import { z } from 'zod';
import type { Health } from '../observe/health-server.ts';
import type { Gateway } from './gateway.ts';
import { policyInForceSchema } from './policy-in-force.ts';
import { trustNames } from './trust-names.ts';

const gatewayStatusSchema = z.object({
  version: z.string(),
  pid: z.int().positive(),
  startedAt: z.string(),
  state: z.enum(['starting', 'ready', 'not-ready', 'stopping']),
  /** why it is not ready, or what to know although it is */
  reasons: z.array(z.string()),
  /** absent until the self-check has passed */
  gateway: z
    .object({
      proxyUrl: z.string(),
      /** where the proxy speaks TLS */
      tlsUrl: z.string().optional(),
      /** that connections are redirected to */
      transparentPort: z.int().optional(),
      envoyPid: z.int().positive(),
      policy: policyInForceSchema,
      ca: z.object({ id: z.string(), subject: z.string(), notAfter: z.string(), cas: z.int() }),
      trust: z.object({
        ca: z.string(),
        caAndSystem: z.string(),
        // absent in what an older gateway says
        caAndSystemPkcs12: z.string().optional(),
        wgetrc: z.string(),
      }),
    })
    .optional(),
});

export type GatewayStatus = z.infer<typeof gatewayStatusSchema>;

/** undefined for what no gateway of this kind says */
export function parseGatewayStatus(text: string): GatewayStatus | undefined {
  try {
    return gatewayStatusSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export type ProcessFacts = { readonly version: string; readonly pid: number; readonly startedAt: number };

export type StatusParts = {
  readonly own: ProcessFacts;
  readonly health: Health;
  readonly isStopping: boolean;
  readonly gateway: Gateway | undefined;
};

export function gatewayStatus({ own, health, isStopping, gateway }: StatusParts): GatewayStatus {
  return {
    version: own.version,
    pid: own.pid,
    startedAt: new Date(own.startedAt).toISOString(),
    state: stateOf(health, isStopping, gateway),
    reasons: [...health.reasons],
    ...(gateway === undefined ? {} : { gateway: describe(gateway) }),
  };
}

function stateOf({ isOk }: Health, isStopping: boolean, gateway: Gateway | undefined): GatewayStatus['state'] {
  if (isStopping) return 'stopping';
  if (gateway === undefined) return 'starting';
  return isOk ? 'ready' : 'not-ready';
}

function describe({ minting, front, transparentPort, trust, ...gateway }: Gateway): GatewayStatus['gateway'] {
  const { active, signer, cas } = minting.pool();
  const notAfter = new Date(signer.notAfter).toISOString();
  const subject = signer.certificate.subject.replaceAll('\n', ', ');
  return {
    proxyUrl: gateway.proxyUrl,
    ...(front === undefined ? {} : { tlsUrl: front.url }),
    ...(transparentPort === undefined ? {} : { transparentPort }),
    ...{ envoyPid: gateway.envoyPid, policy: gateway.policy(), trust: trustNames(trust) },
    ca: { id: active.id, subject, notAfter, cas: cas.length },
  };
}
