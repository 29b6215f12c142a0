// What the minter and the SDS server report, turned into log lines and metrics. Names of clients go to the log, never
// into a label.
import type { DurationMs } from '../clock.ts';
import type { MintEvents } from '../mint/mint-events.ts';
import type { SdsEvents, StreamKind } from '../sds/sds-events.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { Log } from '../observe/log.ts';

const msPerSecond = 1000;

export function mintEvents(log: Log, metrics: Metrics): MintEvents {
  return {
    minted: ({ name, serialHex, tookMs }) => {
      metrics.count('leafgate_leaves_minted_total');
      metrics.observe('leafgate_leaf_mint_seconds', inSeconds(tookMs));
      log.debug('leaf minted', { host: name, serial: serialHex });
    },
    cacheHit: (name) => {
      metrics.count('leafgate_leaf_cache_hits_total');
      log.debug('leaf from the cache', { host: name });
    },
    refused: (asked, reason, rule) => {
      metrics.count('leafgate_names_refused_total', { reason });
      log.info('name refused', { host: asked, reason, rule });
    },
    unavailable: (reason, error) => {
      metrics.count('leafgate_names_unavailable_total', { reason });
      log.warn('name not minted now', { reason, detail: error?.message, code: error?.code });
    },
    leafCheckFailed: (error) => {
      metrics.count('leafgate_leaf_check_failures_total');
      log.error('a leaf did not pass its check and was not served', { detail: error.message, code: error.code });
    },
    leafKeyRenewed: () => {
      metrics.count('leafgate_leaf_keys_created_total');
      log.debug('leaf key created');
    },
  };
}

export function sdsEvents(log: Log, metrics: Metrics): SdsEvents {
  const open = { ads: 0, 'per-name': 0 };
  const opened = (kind: StreamKind, change: number): void => {
    open[kind] += change;
    metrics.set('leafgate_sds_streams', open[kind], { kind });
  };
  return {
    streamOpened: (kind) => {
      opened(kind, 1);
      log.debug('SDS stream opened', { detail: kind });
    },
    streamClosed: (kind, end) => {
      opened(kind, -1);
      metrics.count('leafgate_sds_streams_ended_total', { end });
      log.debug('SDS stream closed', { detail: kind, reason: end });
    },
    answered: ({ outcome, why, waitMs }) => {
      metrics.count('leafgate_sds_answers_total', { kind: outcome === 'removed' ? 'removal' : 'secret' });
      metrics.observe('leafgate_sds_answer_seconds', inSeconds(waitMs));
      if (why === 'too-many-names') log.warn('the longest-held name was taken back: too many live names');
    },
    rejected: ({ name, version, detail, wasFirst }) => {
      metrics.count('leafgate_sds_nacks_total');
      log.error('Envoy rejected a secret', { host: name, version, detail, reason: wasFirst ? 'first' : 'update' });
    },
    badRequest: (error) =>
      log.warn('an SDS peer sent what cannot be served', { detail: error.message, code: error.code }),
    connectionOpened: () => log.debug('SDS connection opened'),
    connectionClosed: () => log.debug('SDS connection closed'),
    connectionRefused: () => log.warn('an SDS connection was turned away: too many connections'),
  };
}

function inSeconds(duration: DurationMs): number {
  return duration / msPerSecond;
}
