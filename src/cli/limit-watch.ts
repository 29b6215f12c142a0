// Which limits of Envoy clients run into: as metrics, in the log when it begins and seldom after that, and as a reason of
// /readyz while it goes on. A client that is refused for a limit is mostly told so itself; whoever runs the gateway is told
// here. Must not know how a limit is set.
import { minutes, seconds, type Clock, type Timer } from '../clock.ts';
import type { AdminClient } from '../envoy/admin-client.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { Log } from '../observe/log.ts';

type LimitSpec = {
  /** names of Envoy's counters that count it */
  readonly counters: RegExp;
  /** what clients see, and of the setting that would have to be larger */
  readonly words: (named: LimitNames) => string;
};

/** How people set the limits that they can: by flags, or in an EgressGateway. */
type LimitNames = { readonly connections: string; readonly memory: string; readonly clientRate: string };

const flagNames: LimitNames = {
  connections: '--max-connections',
  memory: '--max-memory',
  clientRate: '--client-rate',
};

export const objectNames: LimitNames = {
  connections: 'spec.limits.maxConnections',
  memory: 'spec.limits.maxMemory',
  clientRate: 'spec.limits.clientRate',
};

const limits = {
  connections: {
    counters:
      /^(?:listener\.[^.]+\.downstream_global_cx_overflow|http\.[^.]+\.adaptive_concurrency\.gradient_controller\.rq_blocked)$/,
    words: ({ connections }) => `requests are refused, or connections closed unread: ${connections} is reached`,
  },
  memory: {
    counters: /^http\.[^.]+\.downstream_rq_overload_close$/,
    words: ({ memory }) => `requests are refused: ${memory} is reached`,
  },
  'client-rate': {
    counters: /^client_rate\.http_local_rate_limit\.rate_limited$/,
    words: ({ clientRate }) => `requests are refused: a client asks more often than ${clientRate} lets it`,
  },
  names: {
    counters: /^dns_cache\.[^.]+\.(?:host_overflow|dns_rq_pending_overflow)$/,
    words: () => 'requests are refused: too many names are asked for at once',
  },
} as const satisfies { readonly [limit: string]: LimitSpec };

type Limit = keyof typeof limits;
const limitNames = Object.keys(limits) as readonly Limit[];

/** all of the above, for Envoy to choose by */
const counterFilter = '(overflow|overload_close|rate_limited|rq_blocked)$';

export type LimitWatchParts = {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly admin: Pick<AdminClient, 'readStats'>;
  /** default: flags */
  readonly named?: LimitNames;
};

export type LimitWatch = {
  /** for /readyz; the gateway goes on serving */
  reasons(): readonly string[];
  close(): Promise<void>;
};

const lookMs = seconds(5);
const repeatMs = minutes(10);

type Watching = {
  readonly parts: LimitWatchParts;
  readonly counts: Map<Limit, number>;
  readonly toldAt: Map<Limit, number>;
  reached: readonly Limit[];
};

export function startLimitWatch(parts: LimitWatchParts): LimitWatch {
  const watching: Watching = { parts, counts: new Map(), toldAt: new Map(), reached: [] };
  let timer: Timer | undefined;
  let isClosed = false;
  let current: Promise<void> = Promise.resolve();
  const lookAgain = (): void => {
    current = look(watching).then(() => {
      if (!isClosed) timer = parts.clock.after(lookMs, lookAgain);
    });
  };
  lookAgain();
  return {
    reasons: () => watching.reached.map((limit) => wordsOf(limit, parts)),
    close: async () => {
      isClosed = true;
      timer?.cancel();
      await current;
      await look(watching);
    },
  };
}

async function look(watching: Watching): Promise<void> {
  const { admin, metrics } = watching.parts;
  const stats = await admin.readStats(counterFilter).catch(() => undefined);
  if (stats === undefined) return;
  const reached: Limit[] = [];
  for (const limit of limitNames) {
    const count = sumOf(stats, limits[limit].counters);
    const before = watching.counts.get(limit) ?? 0;
    watching.counts.set(limit, count);
    metrics.setTotal('leafgate_limits_reached_total', count, { limit });
    if (count > before) reached.push(limit);
  }
  watching.reached = reached;
  for (const limit of reached) tell(watching, limit);
}

function sumOf(stats: ReadonlyMap<string, number>, counters: RegExp): number {
  let sum = 0;
  for (const [name, value] of stats) if (counters.test(name)) sum += value;
  return sum;
}

function tell({ parts, toldAt, counts }: Watching, limit: Limit): void {
  const now = parts.clock.monotonic();
  if (now - (toldAt.get(limit) ?? -Infinity) < repeatMs) return;
  toldAt.set(limit, now);
  parts.log.warn(wordsOf(limit, parts), { reason: limit, detail: `${counts.get(limit) ?? 0} so far` });
}

function wordsOf(limit: Limit, { named = flagNames }: LimitWatchParts): string {
  return limits[limit].words(named);
}
