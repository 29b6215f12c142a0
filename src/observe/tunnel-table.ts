// The tunnels that are open, or ended a moment ago: what their first line said, and whether a record was made of them.
// Bounded in number and in time; pure.
import { plus, type DurationMs, type EpochMs } from '../clock.ts';
import type { AccessLogLine } from './access-log-line.ts';
import type { AccessRecord } from './access-record.ts';
import { forgetOldest } from './seen-leaves.ts';

export type Tunnel = {
  /** the first line seen of it, mostly that of its CONNECT */
  readonly opening: AccessLogLine;
  hasRecord: boolean;
  /** the inner connection's line, when it ended without showing a protocol */
  silence?: AccessLogLine;
  /** of an inner connection whose handshake brought no request: its line, and the record by what is still to be seen */
  unasked?: UnaskedHandshake;
  /** Envoy's flags at the end of its CONNECT */
  endFlags?: readonly string[];
  /** until when late lines are waited for, once it has ended */
  waitsUntil?: EpochMs;
};

type UnaskedHandshake = {
  readonly line: AccessLogLine;
  /** the client did not want it */
  readonly refused: AccessRecord;
  /** the client did not need it */
  readonly spare: AccessRecord;
};

export type TunnelLimits = {
  /** a client may open many over one HTTP/2 connection, so that the oldest open one has to make room */
  readonly maxTunnels: number;
  /** Envoy writes all lines of a tunnel within one flush of each other (a second at most) */
  readonly graceMs: DurationMs;
};

export interface TunnelTable {
  get(id: string): Tunnel | undefined;
  /** the tunnel of this line, made when it is the first */
  remember(line: AccessLogLine): Tunnel;
  end(tunnel: Tunnel, now: EpochMs): void;
  /** whether an id that is not known could be one that had to make room, or began before the first line */
  mayHaveForgotten(id: string): boolean;
  /** forgets the tunnels whose time is over and returns those without a record */
  sweep(now: EpochMs): readonly Tunnel[];
  /** forgets all, since none of them goes on, and returns those without a record */
  clear(): readonly Tunnel[];
}

export function createTunnelTable(limits: TunnelLimits, forgotten: () => void, isHistoryCut: boolean): TunnelTable {
  const tunnels = new Map<string, Tunnel>();
  let hasForgotten = isHistoryCut;
  return {
    mayHaveForgotten: (id) => hasForgotten && !tunnels.has(id),
    get: (id) => tunnels.get(id),
    remember: (line) => {
      const known = tunnels.get(line.id);
      if (known !== undefined) return known;
      const tunnel: Tunnel = { opening: line, hasRecord: false };
      tunnels.set(line.id, tunnel);
      if (tunnels.size > limits.maxTunnels) {
        forgetOldest(tunnels);
        hasForgotten = true;
        forgotten();
      }
      return tunnel;
    },
    end: (tunnel, now) => {
      tunnel.waitsUntil = plus(now, limits.graceMs);
    },
    sweep: (now) => {
      const silent: Tunnel[] = [];
      for (const [id, tunnel] of tunnels) {
        if (tunnel.waitsUntil === undefined || tunnel.waitsUntil > now) continue;
        if (!tunnel.hasRecord) silent.push(tunnel);
        tunnels.delete(id);
      }
      return silent;
    },
    clear: () => {
      const silent = [...tunnels.values()].filter(({ hasRecord }) => !hasRecord);
      tunnels.clear();
      hasForgotten = false;
      return silent;
    },
  };
}
