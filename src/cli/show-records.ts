// From lines of the access log to records that have left this process: joined, counted, shown, and noted as shown only when
// whoever reads has taken them. A reader that is slow slows this down and loses nothing: the log waits on the disk.
import type { EpochMs } from '../clock.ts';
import type { AccessRecord } from '../observe/access-record.ts';
import type { LogBatch } from '../observe/follow-log.ts';
import type { LogPosition } from '../observe/log-segments.ts';
import type { RecordJoiner } from '../observe/record-joiner.ts';
import type { ShownRecords } from './record-position.ts';

export type ShowRecordsParts = {
  readonly joiner: RecordJoiner;
  readonly now: () => EpochMs;
  readonly show: (record: AccessRecord) => void;
  /** settles when all that was shown has been taken; false where it was put by and could still be lost */
  readonly taken: () => Promise<boolean>;
  readonly note: (shown: ShownRecords) => void;
  readonly from: ShownRecords;
};

export type RecordShow = {
  /** false when nobody waits for records any more */
  batch(batch: LogBatch): Promise<boolean>;
  /** shows the tunnels that came to nothing, unless a reader is behind */
  sweep(): Promise<void>;
  /** ends the wait for a reader: what was not taken by then is shown by the next run */
  giveUp(): void;
  /** after the last batch: shows what still waits for lines that cannot come. False when the reader was given up */
  finish(): Promise<boolean>;
  isReaderBehind(): boolean;
};

export function createRecordShow(parts: ShowRecordsParts): RecordShow {
  const { joiner, now, show, note } = parts;
  const givenUp = Promise.withResolvers<'given up'>();
  let shown = parts.from;
  let isBehind = false;
  let isGivenUp = false;
  const showAll = (records: readonly AccessRecord[]): void => {
    for (const record of records) show(record);
  };
  const settle = async (next: ShownRecords): Promise<boolean> => {
    isBehind = true;
    const isTaken = await Promise.race([parts.taken(), givenUp.promise]);
    isBehind = false;
    if (isTaken === 'given up') return false;
    shown = next;
    if (isTaken) note(shown);
    return true;
  };
  return {
    batch: ({ lines, end }) => {
      if (isGivenUp) return Promise.resolve(false);
      for (const line of lines) showAll(joiner.take(line, now()));
      return settle({ ...shown, ...positionOf(end) });
    },
    sweep: async () => {
      if (isBehind || isGivenUp) return;
      const sweptAt = now();
      const records = joiner.sweep(sweptAt);
      if (records.length === 0) return;
      showAll(records);
      await settle({ ...shown, sweptAt });
    },
    giveUp: () => {
      isGivenUp = true;
      givenUp.resolve('given up');
    },
    finish: () => {
      if (isGivenUp) return Promise.resolve(false);
      showAll(joiner.finish());
      return settle({ ...shown, sweptAt: now(), isFinished: true });
    },
    isReaderBehind: () => isBehind,
  };
}

function positionOf({ segment, offset }: LogPosition): LogPosition {
  return { segment, offset };
}
