// When a gateway is looked at again although nothing that is followed has changed: at the resync, or sooner where something is
// due or is only asked for. Clock and chance are arguments.
import { millis, type Clock, type DurationMs, type EpochMs } from '../clock.ts';
import type { Publication } from './judge-publication.ts';
import type { WorkOutcome } from './work-queue.ts';

export type RoundTerms = {
  readonly clock: Clock;
  /** in [0, 1) */
  readonly random: () => number;
  readonly resyncMs: DurationMs;
};

export type RoundDates = {
  /** something is to be asked for by then */
  readonly withinMs?: DurationMs | undefined;
  /** a certificate begins or ends then */
  readonly changesAt?: EpochMs | undefined;
};

export function nextRound(
  publication: Publication | undefined,
  { withinMs, changesAt }: RoundDates,
  { clock, random, resyncMs }: RoundTerms,
): WorkOutcome {
  if (publication?.kind === 'failed') return { kind: 'retry' };
  const until = publication?.kind === 'stands' ? publication.until : undefined;
  const waits = [
    // between half and the whole of it, so that gateways do not come all at once
    resyncMs * (1 - random() / 2),
    ...[until, changesAt].flatMap((at) => (at === undefined ? [] : [Math.max(0, at - clock.now())])),
    ...(withinMs === undefined ? [] : [withinMs]),
  ];
  return { kind: 'done', againAfterMs: millis(Math.min(...waits)) };
}
