// Which gateways have a channel that guards less than it could, by somebody's choice: told when it becomes so, and while it is.
// Their conditions say the same to whoever looks at one of them.
import type { Clock } from '../clock.ts';
import type { Log } from '../observe/log.ts';
import type { EgressGatewayStatus } from '../settings/egress-gateway-types.ts';
import { startAudit } from '../start-audit.ts';
import type { ReasonOf } from './condition-table.ts';
import { sayFirst } from './judge.ts';

export type ChannelAudit = {
  /** the status of a gateway after a round; undefined when it has gone */
  seen(key: string, status: EgressGatewayStatus | undefined): void;
  close(): void;
};

const sentences = {
  ExplicitlyDisabled:
    'Envoy asks its SDS servers in plaintext, as spec.sds.tls.enabled says: whoever is on the way reads the keys of leaves',
  InsecureSkipVerify:
    'Envoy takes any SDS server, as spec.sds.tls.insecureSkipVerify says: whoever answers in its place gives out the keys of leaves',
} as const satisfies { readonly [reason in ReasonOf<'TLSConfigured'>]?: string };

type Audited = keyof typeof sentences;

/** of so many gateways a line has the names */
const mostNames = 20;

export function auditChannels({ clock, log }: { readonly clock: Clock; readonly log: Log }): ChannelAudit {
  const known = new Map<string, Audited>();
  const warn = (reason: Audited, keys: readonly string[]): void => {
    if (keys.length > 0) log.warn(sentences[reason], { reason: 'audit', gateway: sayFirst(keys, mostNames) });
  };
  const timer = startAudit(clock, () => {
    for (const reason of audited)
      warn(
        reason,
        [...known.keys()].filter((key) => known.get(key) === reason),
      );
  });
  return {
    seen: (key, status) => {
      const reason = audited.find((one) => one === channelReason(status));
      if (reason !== undefined && known.get(key) !== reason) warn(reason, [key]);
      if (reason === undefined) known.delete(key);
      else known.set(key, reason);
    },
    close: () => timer.cancel(),
  };
}

const audited = Object.keys(sentences).filter((reason): reason is Audited => Object.hasOwn(sentences, reason));

/** undefined where it has not been judged */
function channelReason(status: EgressGatewayStatus | undefined): string | undefined {
  return status?.conditions.find(({ type }) => type === 'TLSConfigured')?.reason;
}

const kinds = {
  UnixSocket: 'unix-socket',
  Enabled: 'tls',
  InsecureSkipVerify: 'tls-unverified',
  ExplicitlyDisabled: 'plaintext',
} as const satisfies { readonly [reason in ReasonOf<'TLSConfigured'>]?: string };

const kindsByReason = new Map<string, ChannelKind>(Object.entries(kinds));

export type ChannelKind = (typeof kinds)[keyof typeof kinds] | 'none';

/** How many gateways have a channel of each kind, those that have been judged. */
export function countChannels(statuses: readonly EgressGatewayStatus[]): ReadonlyMap<ChannelKind, number> {
  const counts = new Map<ChannelKind, number>([...kindsByReason.values(), 'none' as const].map((kind) => [kind, 0]));
  for (const status of statuses) {
    const reason = channelReason(status);
    if (reason === undefined) continue;
    const kind = kindsByReason.get(reason) ?? 'none';
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}
