// Turns the lines of Envoy's access log into records. A request's line says nearly all by itself; the lines of one
// tunnel are joined by id to fill in the client, and to tell a handshake that failed from one whose requests were seen.
// Pure, bounded in memory; time is an argument.
import { epoch, millis, type EpochMs } from '../clock.ts';
import { endOf, isEstablished, parseAccessLogLine, type AccessLogLine } from './access-log-line.ts';
import type { AccessRecord, FoundReason, RecordKind } from './access-record.ts';
import { createAskingClients, type AskingClients } from './asking-clients.ts';
import { buildRecord } from './build-record.ts';
import { isRunMarker } from './run-marker.ts';
import { explainClientTls, isUnasked, stayedOpen } from './explain-client-tls.ts';
import { explainProxyTls } from './explain-proxy-tls.ts';
import { explainRedirected, oddServerName } from './explain-redirected.ts';
import { explainRequest } from './explain-request.ts';
import { cutByStop, wasCutByStop } from './gateway-stop.ts';
import { createSeenLeaves, type SeenLeaves } from './seen-leaves.ts';
import { createTunnelTable, type Tunnel, type TunnelLimits, type TunnelTable } from './tunnel-table.ts';

export type RecordJoinerEvents = {
  readonly lineLost: (reason: 'not-json' | 'forgotten') => void;
};

export interface RecordJoiner {
  /** the records that this line completes, mostly none or one; without `now`, for lines of the past, it is as they say */
  take(line: string, now?: EpochMs): readonly AccessRecord[];
  /** the latest end of anything that a line told */
  latest(): EpochMs;
  /** the records of tunnels that ended some time ago without showing anything; call it every second or so */
  sweep(now: EpochMs): readonly AccessRecord[];
  /** the records of all tunnels that have none yet, when no more lines of them can come: the gateway has ended */
  finish(): readonly AccessRecord[];
}

const defaultLimits: TunnelLimits = { maxTunnels: 20_000, graceMs: millis(3_000) };

/** `isHistoryCut`: tunnels may have begun before the first line, until one says that a gateway starts */
export function createRecordJoiner(
  events: RecordJoinerEvents,
  limits = defaultLimits,
  isHistoryCut = false,
): RecordJoiner {
  const tunnels = createTunnelTable(limits, () => events.lineLost('forgotten'), isHistoryCut);
  const joining: Joining = { tunnels, leaves: createSeenLeaves(), asking: createAskingClients() };
  let latest = epoch(0);
  return {
    latest: () => latest,
    take: (text, now) => {
      if (isRunMarker(text)) return finish(joining);
      const line = parseAccessLogLine(text);
      if (line === undefined) {
        events.lineLost('not-json');
        return [];
      }
      const end = endOf(line);
      latest = epoch(Math.max(latest, end));
      return takeLine(joining, line, now ?? end);
    },
    sweep: (now) => tunnels.sweep(now).map((tunnel) => unexplained(joining, tunnel, nothingSent)),
    finish: () => finish(joining),
  };
}

function finish(joining: Joining): readonly AccessRecord[] {
  return joining.tunnels.clear().map((tunnel) => {
    return unexplained(joining, tunnel, tunnel.waitsUntil === undefined ? cutByStop : nothingSent);
  });
}

type Joining = { readonly tunnels: TunnelTable; readonly leaves: SeenLeaves; readonly asking: AskingClients };

function takeLine(joining: Joining, line: AccessLogLine, now: EpochMs): readonly AccessRecord[] {
  switch (line.leg) {
    case 'connect':
      return takeConnect(joining, line, now);
    case 'front':
      // what came of a handshake that ended, its requests tell
      return isHandshakeDone(line) ? [] : [build(joining, line, 'handshake', explainProxyTls(line))];
    case 'redirected':
      return [build(joining, line, line.text.sni === undefined ? 'tunnel' : 'handshake', explainRedirected(line))];
    case 'listener':
      return takeListener(joining, line, now);
    case 'plain':
      // an upgrade is told when it ends; Envoy writes a line when it begins, too
      return isEstablished(line) ? [] : [build(joining, line, 'request', explainRequest(line))];
    case 'intercept':
    case 'clear':
      return takeInner(joining, line, 'request');
    case 'tcp':
      return takeInner(joining, line, 'tunnel');
    default:
      return line.leg satisfies never;
  }
}

function takeConnect(joining: Joining, line: AccessLogLine, now: EpochMs): readonly AccessRecord[] {
  // what was in it was told before it was forgotten
  if (!isEstablished(line) && isAccepted(line) && joining.tunnels.mayHaveForgotten(line.id)) return [];
  const tunnel = joining.tunnels.remember(line);
  if (isEstablished(line)) return [];
  joining.tunnels.end(tunnel, now);
  tunnel.endFlags = flagsOf(line);
  if (tunnel.hasRecord) return [];
  if (tunnel.silence !== undefined) return [silentTunnel(joining, tunnel, tunnel.silence)];
  if (isAccepted(line)) return [];
  tunnel.hasRecord = true;
  return [build(joining, line, 'connect', explainRequest(line) ?? leftUnanswered)];
}

function isHandshakeDone(line: AccessLogLine): boolean {
  return line.number.handshake_ms !== undefined;
}

function takeListener(joining: Joining, line: AccessLogLine, now: EpochMs): readonly AccessRecord[] {
  // of a tunnel that was forgotten nobody knows whether its requests were seen: better no record than one that blames
  if (joining.tunnels.mayHaveForgotten(line.id)) return [];
  const tunnel = joining.tunnels.remember(line);
  // a connection that came without a CONNECT has no other end
  if (tunnel.opening.leg !== 'connect') joining.tunnels.end(tunnel, now);
  const reason = explainListener(line);
  if (tunnel.hasRecord || reason === undefined) return [];
  if (reason === nothingSent && tunnel.opening.leg === 'connect') {
    tunnel.silence = line;
    // only the end of the CONNECT tells who closed
    return tunnel.endFlags === undefined ? [] : [silentTunnel(joining, tunnel, line)];
  }
  if (isUnasked(reason) && !stayedOpen(line)) {
    // what the client does beside it is told by lines to come
    tunnel.unasked = {
      line,
      refused: build(joining, line, 'handshake', reason),
      spare: build(joining, line, 'handshake'),
    };
    return [];
  }
  tunnel.hasRecord = true;
  if (isUnasked(reason)) return [build(joining, line, 'handshake')];
  return [build(joining, line, line.text.chain === tlsChain ? 'handshake' : 'tunnel', reason)];
}

/** the record of a tunnel of which no line tells more; `otherwise`, where none told anything */
function unexplained(joining: Joining, { opening, unasked }: Tunnel, otherwise: FoundReason): AccessRecord {
  if (unasked === undefined) return build(joining, opening, 'tunnel', otherwise);
  return joining.asking.hasAskedBeside(unasked.line, opening) ? unasked.spare : unasked.refused;
}

function silentTunnel(joining: Joining, tunnel: Tunnel, line: AccessLogLine): AccessRecord {
  tunnel.hasRecord = true;
  // the inspector closes by itself, and without a flag, when a ClientHello is larger than it reads (measured)
  return build(joining, line, 'tunnel', tunnel.endFlags?.includes('UC') === true ? helloTooLarge : nothingSent);
}

function takeInner(joining: Joining, line: AccessLogLine, kind: RecordKind): readonly AccessRecord[] {
  const tunnel = joining.tunnels.remember(line);
  tunnel.hasRecord = true;
  if (line.leg === 'intercept') joining.asking.note(line, tunnel.opening);
  return [build(joining, line, kind, explainRequest(line))];
}

function build(joining: Joining, line: AccessLogLine, kind: RecordKind, reason?: FoundReason): AccessRecord {
  const { leaves, tunnels } = joining;
  return buildRecord({ line, kind, leaves, tunnel: tunnels.get(line.id), ...(reason === undefined ? {} : { reason }) });
}

/** the chain that ends the client's TLS */
const tlsChain = 'intercept';

const nothingSent: FoundReason = { code: 'client-left', words: 'the client closed before it showed a protocol' };
const leftUnanswered: FoundReason = { code: 'client-left', words: 'the client left before it had an answer' };
const helloTooLarge: FoundReason = {
  code: 'opaque-closed',
  words: 'the client sent a ClientHello of more than 16 KiB, which the gateway does not read',
};
const opaqueClosed: FoundReason = {
  code: 'opaque-closed',
  words: 'the client showed neither TLS nor HTTP, and no rule opens this target for other protocols',
};

function flagsOf(line: AccessLogLine): readonly string[] {
  return (line.text.flags ?? '').split(',');
}

function isAccepted(line: AccessLogLine): boolean {
  const status = line.number.status ?? 0;
  return status >= 200 && status < 300;
}

/** undefined where another line of the same tunnel will say more, or has */
function explainListener(line: AccessLogLine): FoundReason | undefined {
  if (line.text.chain === tlsChain) return explainClientTls(line);
  if (line.text.chain !== undefined) return undefined;
  if (wasCutByStop(line)) return cutByStop;
  // NR: the time for showing a protocol was over, or it was shown, and no chain takes it
  if (!flagsOf(line).includes('NR')) return nothingSent;
  return line.text.sni === undefined ? opaqueClosed : oddServerName;
}
