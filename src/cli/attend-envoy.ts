// Watches an Envoy that somebody else starts and ends, as the kubelet does beside the sidecar: whether it answers, that it is a
// new one, and that it is ready. Must not know what is to be done then.
import { seconds, type Clock, type Timer } from '../clock.ts';
import type { AdminClient } from '../envoy/admin-client.ts';
import { systemCode } from '../system-error.ts';
import { activeConnections } from '../envoy/drain-listeners.ts';
import { LeafgateError } from '../errors.ts';
import { readRunState, type RunState } from '../envoy/running-envoy.ts';
import type { Metrics } from '../observe/create-metrics.ts';

export type AttendParts = {
  readonly admin: AdminClient;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** an Envoy that was not there before is ready; what it rejects with is tried again with the next look */
  readonly ready: () => Promise<void>;
  /** the Envoy that was there listens no more */
  readonly ended: () => Promise<void>;
};

export type EnvoyWatch = {
  /** undefined once it is ready and `ready` has done its work; else what is missing, a sentence */
  missing(): string | undefined;
  close(): Promise<void>;
};

/** soon noticed, also by a kubelet whose probes are as far apart */
const lookEvery = seconds(1);

type Attending = {
  readonly parts: AttendParts;
  last: RunState | undefined;
  isWelcomed: boolean;
  missing: string | undefined;
};

export function attendEnvoy(parts: AttendParts): EnvoyWatch {
  const attending: Attending = { parts, last: undefined, isWelcomed: false, missing: absent };
  let timer: Timer | undefined;
  let isClosed = false;
  let current: Promise<void> = Promise.resolve();
  const lookAgain = (): void => {
    current = look(attending).then(() => {
      if (!isClosed) timer = parts.clock.after(lookEvery, lookAgain);
    });
  };
  parts.metrics.beforeScrape(async () => {
    parts.metrics.set('leafgate_envoy_connections', await activeConnections(parts.admin));
  });
  lookAgain();
  return {
    missing: () => attending.missing,
    close: async () => {
      isClosed = true;
      timer?.cancel();
      await current;
    },
  };
}

const absent = 'Envoy does not answer on its admin socket';

async function look(attending: Attending): Promise<void> {
  const { parts, last } = attending;
  const now = await readRunState(parts.admin).catch(absence);
  if (typeof now === 'string') {
    attending.missing = absent;
    if (now === 'silent' || last === undefined) return;
    forget(attending);
    await parts.ended().catch(() => undefined);
    return;
  }
  if (last !== undefined && now.uptimeSeconds < last.uptimeSeconds) forget(attending);
  attending.last = now;
  attending.missing = await welcome(attending, now);
}

function forget(attending: Attending): void {
  attending.last = undefined;
  attending.isWelcomed = false;
  attending.parts.metrics.set('leafgate_envoy_up', 0);
}

/** a busy Envoy may be silent for a while; one that nobody listens for is none */
function absence(thrown: unknown): 'gone' | 'silent' {
  const code = systemCode(LeafgateError.from(thrown).cause);
  return code === 'ECONNREFUSED' || code === 'ENOENT' ? 'gone' : 'silent';
}

async function welcome(attending: Attending, { state }: RunState): Promise<string | undefined> {
  if (attending.isWelcomed) return state === 'LIVE' ? undefined : notLive(state);
  if (state !== 'LIVE') return notLive(state);
  const { parts } = attending;
  try {
    await parts.ready();
  } catch (thrown) {
    return LeafgateError.from(thrown).message;
  }
  attending.isWelcomed = true;
  parts.metrics.count('leafgate_envoy_starts_total');
  parts.metrics.set('leafgate_envoy_up', 1);
  return undefined;
}

function notLive(state: string): string {
  return `Envoy is not ready: ${state}`;
}
