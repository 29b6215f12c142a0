// Which of Envoy's counters make which limit, and when whoever runs the gateway is told.
import { beforeEach, describe, expect, it } from 'vitest';
import { startLimitWatch, type LimitWatch } from '../../../src/cli/limit-watch.ts';
import { createMetrics, type Metrics } from '../../../src/observe/create-metrics.ts';
import type { Log } from '../../../src/observe/log.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';

describe('the watch over limits', () => {
  let clock: FakeClock;
  let metrics: Metrics;
  let said: string[];
  let stats: Map<string, number>;
  let isSilent: boolean;
  let watch: LimitWatch;

  beforeEach(async () => {
    clock = createFakeClock();
    metrics = createMetrics({ withProcessMetrics: false });
    said = [];
    stats = new Map();
    isSilent = false;
    const say = (sentence: string): void => void said.push(sentence);
    const log: Log = { debug: say, info: say, warn: say, error: say, with: () => log };
    const readStats = (): Promise<ReadonlyMap<string, number>> =>
      isSilent ? Promise.reject(new Error('no answer')) : Promise.resolve(new Map(stats));
    watch = startLimitWatch({ clock, log, metrics, admin: { readStats } });
    await settle();
  });

  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const look = async (change: { readonly [name: string]: number } = {}): Promise<void> => {
    for (const [name, value] of Object.entries(change)) stats.set(name, value);
    clock.advance(5_000);
    await settle();
  };
  const counted = async (limit: string): Promise<number> => {
    const text = await metrics.render();
    return Number(new RegExp(`^leafgate_limits_reached_total\\{limit="${limit}"\\} (\\d+)$`, 'm').exec(text)?.[1]);
  };

  it.each([
    [
      'connections',
      'listener.explicit.downstream_global_cx_overflow',
      'listener.explicit-tls.downstream_global_cx_overflow',
    ],
    [
      'connections',
      'listener.explicit.downstream_global_cx_overflow',
      'http.explicit.adaptive_concurrency.gradient_controller.rq_blocked',
    ],
    ['memory', 'http.explicit.downstream_rq_overload_close', 'http.intercept.downstream_rq_overload_close'],
    ['names', 'dns_cache.egress.host_overflow', 'dns_cache.egress-own-ports.dns_rq_pending_overflow'],
  ])('counts %s from %s and %s', async (limit, one, other) => {
    await look({ [one]: 3, [other]: 4, 'cluster.inner.upstream_cx_overflow': 9 });
    expect(await counted(limit)).toBe(7);
    expect(said).toHaveLength(1);
  });

  it('tells a limit once in ten minutes, and gives it as a reason while it goes on', async () => {
    const name = 'client_rate.http_local_rate_limit.rate_limited';
    for (let count = 1; count <= 120; count += 1) await look({ [name]: count });
    expect(said).toEqual(['requests are refused: a client asks more often than --client-rate lets it']);
    expect(watch.reasons()).toEqual(said);
    await look();
    expect(watch.reasons()).toEqual([]);
    await look({ [name]: 121 });
    expect([said.length, await counted('client-rate')]).toEqual([2, 121]);
  });

  it('says nothing of what was never reached, and keeps its counts while Envoy does not answer', async () => {
    await look({ 'dns_cache.egress.host_overflow': 0 });
    isSilent = true;
    await look();
    expect([said, watch.reasons()]).toEqual([[], []]);
  });

  it('looks a last time when it is closed, and never again', async () => {
    stats.set('dns_cache.egress.host_overflow', 1);
    await watch.close();
    expect([await counted('names'), clock.pendingTimers()]).toEqual([1, 0]);
  });
});
