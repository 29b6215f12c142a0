// What the minter and the SDS server report, turned into log lines and metrics. Names of clients go to the log, never
// into a label.
import type { DurationMs } from '../clock.ts';
import type { MintEvents } from '../mint/mint-events.ts';
import type { RefusalReason } from '../mint/mint-types.ts';
import type { SdsEvents, StreamEnd } from '../sds/sds-events.ts';
import { maxNamesPerStream } from '../sds/sds-settings.ts';
import type { RemovalReason } from '../sds/stream-events.ts';
import { createSeldom, lostField } from '../observe/seldom.ts';
import type { Surroundings } from './surroundings.ts';

const msPerSecond = 1000;

/** why the SDS server itself lets an ask go without a leaf; other reasons are the minter's to count and to tell */
const unmintedReasons = ['deadline', 'too-many-names', 'peer-behind'] as const;
type UnmintedReason = (typeof unmintedReasons)[number];

/** removals that are told here */
const removalSentences: { readonly [reason in UnmintedReason | 'evicted']: string } = {
  deadline: 'an asked name was not minted: its turn did not come within the answer deadline',
  'too-many-names': `an asked name was not minted: its stream asks for more than ${maxNamesPerStream} names`,
  'peer-behind': 'an asked name was not minted: its peer does not answer what it was sent',
  evicted: 'the longest-held name was taken back: too many live names',
};

function isToldHere(why: RemovalReason): why is keyof typeof removalSentences {
  return Object.hasOwn(removalSentences, why);
}

type WatchParts = Pick<Surroundings, 'log' | 'metrics' | 'clock'>;

export function mintEvents({ log, metrics, clock }: WatchParts): MintEvents {
  const seldom = createSeldom(clock);
  // counted here and handed over when asked for: a labelled counter costs a tenth of a mint
  let minted = 0;
  let hits = 0;
  const refusals = new Map<RefusalReason, number>();
  metrics.beforeScrape(() => {
    metrics.setTotal('leafgate_leaves_minted_total', minted);
    metrics.setTotal('leafgate_leaf_cache_hits_total', hits);
    for (const [reason, total] of refusals) metrics.setTotal('leafgate_names_refused_total', total, { reason });
  });
  return {
    minted: ({ name, serialHex }) => {
      minted += 1;
      log.debug('leaf minted', { host: name, serial: serialHex });
    },
    cacheHit: (name) => {
      hits += 1;
      log.debug('leaf from the cache', { host: name });
    },
    refused: (asked, reason, rule) => {
      refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
      seldom(reason, (leftOut) => log.info('name refused', { host: asked, reason, rule, ...lostField(leftOut) }));
    },
    unavailable: (reason, error) => {
      // an ask is let go where its peer is answered, which is where it is counted
      if (reason !== 'deadline') metrics.count('leafgate_names_unavailable_total', { reason });
      seldom(reason, (leftOut) =>
        log.warn('name not minted now', { reason, detail: error?.message, code: error?.code, ...lostField(leftOut) }),
      );
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

export function sdsEvents({ log, metrics, clock }: WatchParts): SdsEvents {
  const seldom = createSeldom(clock);
  const { open, ended, answers, unminted } = countStreams(metrics);
  return {
    streamOpened: (kind) => {
      open[kind] += 1;
      log.debug('SDS stream opened', { detail: kind });
    },
    streamClosed: (kind, end) => {
      open[kind] -= 1;
      ended.set(end, (ended.get(end) ?? 0) + 1);
      log.debug('SDS stream closed', { detail: kind, reason: end });
    },
    answered: ({ outcome, why, waitMs }) => {
      answers[outcome === 'removed' ? 'removal' : 'secret'] += 1;
      metrics.observe('leafgate_sds_answer_seconds', inSeconds(waitMs));
      if (why === undefined || !isToldHere(why)) return;
      if (why !== 'evicted') unminted[why] += 1;
      seldom(why, (leftOut) => log.warn(removalSentences[why], lostField(leftOut)));
    },
    rejected: ({ name, version, detail, wasFirst }) => {
      metrics.count('leafgate_sds_nacks_total');
      const reason = wasFirst ? 'first' : 'update';
      seldom(reason, (leftOut) =>
        log.error('Envoy rejected a secret', { host: name, version, detail, reason, ...lostField(leftOut) }),
      );
    },
    badRequest: (error) =>
      seldom(error.code, (leftOut) =>
        log.warn('an SDS peer sent what cannot be served', {
          detail: error.message,
          code: error.code,
          ...lostField(leftOut),
        }),
      ),
    connectionOpened: () => log.debug('SDS connection opened'),
    connectionClosed: () => log.debug('SDS connection closed'),
    connectionRefused: () =>
      seldom('connection-refused', (leftOut) =>
        log.warn('an SDS connection was turned away: too many connections', lostField(leftOut)),
      ),
  };
}

/** Counts of what happens with every name, handed over at a scrape: a labelled counter costs a tenth of a mint. */
function countStreams(metrics: WatchParts['metrics']) {
  const open = { ads: 0, 'per-name': 0 };
  const ended = new Map<StreamEnd, number>();
  const answers = { secret: 0, removal: 0 };
  const unminted: Record<UnmintedReason, number> = { deadline: 0, 'too-many-names': 0, 'peer-behind': 0 };
  metrics.beforeScrape(() => {
    metrics.setTotal('leafgate_sds_answers_total', answers.secret, { kind: 'secret' });
    metrics.setTotal('leafgate_sds_answers_total', answers.removal, { kind: 'removal' });
    for (const reason of unmintedReasons) {
      metrics.setTotal('leafgate_names_unavailable_total', unminted[reason], { reason });
    }
    for (const [end, total] of ended) metrics.setTotal('leafgate_sds_streams_ended_total', total, { end });
    metrics.set('leafgate_sds_streams', open.ads, { kind: 'ads' });
    metrics.set('leafgate_sds_streams', open['per-name'], { kind: 'per-name' });
  });
  return { open, ended, answers, unminted };
}

function inSeconds(duration: DurationMs): number {
  return duration / msPerSecond;
}
