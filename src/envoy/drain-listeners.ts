// A graceful end for the clients of a running Envoy (measured: HTTP connections go within the drain time, raw tunnels
// stay for ever, so somebody must stop waiting). Must not know the process.
import { millis, type Clock, type DurationMs } from '../clock.ts';
import { pause } from '../pause.ts';
import type { AdminClient } from './admin-client.ts';

export type DrainOptions = {
  readonly admin: AdminClient;
  readonly clock: Clock;
  readonly drainMs: DurationMs;
  /** goes on for at least so long, for clients who have not heard yet that others take their place; default 0 */
  readonly leastMs?: DurationMs;
};

const pollMs = millis(500);

/** Asks for a drain and returns when no connection is left, or when the time is over. Never throws. */
export async function drainListeners({ admin, clock, drainMs, leastMs = millis(0) }: DrainOptions): Promise<void> {
  const begun = clock.monotonic();
  const deadline = begun + drainMs;
  const asked = await admin.post('/drain_listeners?graceful').catch(() => undefined);
  if (asked?.status !== 200) return;
  for (;;) {
    if (clock.monotonic() - begun >= leastMs && (await activeConnections(admin)) === 0) return;
    const left = deadline - clock.monotonic();
    if (left <= 0) return;
    await pause(clock, millis(Math.min(pollMs, left)));
  }
}

/** Connections of clients; those of the admin interface, this question's own among them, are not counted. */
export async function activeConnections(admin: AdminClient): Promise<number> {
  const stats = await admin.readStats('^listener\\..*\\.downstream_cx_active$').catch(() => new Map<string, number>());
  let active = 0;
  for (const [name, value] of stats) {
    const isOwn = name.startsWith('listener.admin.');
    // worker_N repeats what the listener's total says
    if (!isOwn && !/\.worker_\d+\.downstream_cx_active$/.test(name)) active += value;
  }
  return active;
}
