// Notices that records or lines of output are lost, as on a full disk, and says so: once when it begins, seldom while it
// goes on, once when it is over; as a reason of /readyz meanwhile; as a count in the metrics. Must not know where the
// numbers come from.
import { minutes, seconds, type Clock, type Timer } from '../clock.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { Log } from '../observe/log.ts';

export type LossCounts = {
  /** writes of Envoy to its access log since its start, each of some lines */
  readonly failedWrites: number;
  readonly completedWrites: number;
  /** lines that it wrote or meant to write */
  readonly lines: number;
  /** lines that were read from the file, whatever was in them; undefined while somebody slow holds the reading up */
  readonly linesRead: number | undefined;
  /** lines of ours that no reader of stdout or stderr took */
  readonly outputLost: number;
};

export type LossWatchParts = {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** undefined when Envoy does not answer; must not reject */
  readonly counts: () => Promise<LossCounts | undefined>;
  /** in words why the access log cannot be written, as far as one can see */
  readonly cause: () => string;
};

export type LossWatch = {
  /** for /readyz; the gateway goes on serving */
  reasons(): readonly string[];
  /** looks once more, and stops looking */
  close(): Promise<void>;
};

/** longer than a line stays in Envoy's buffer: with no new line between two looks, all have been written or lost */
const lookMs = seconds(2);
const repeatMs = minutes(10);

type Watching = {
  readonly parts: LossWatchParts;
  last: LossCounts;
  lostRecords: number;
  areRecordsLost: boolean;
  isOutputLost: boolean;
  readonly toldAt: { records: number; output: number };
};

export function startLossWatch(parts: LossWatchParts): LossWatch {
  const watching: Watching = {
    parts,
    last: { failedWrites: 0, completedWrites: 0, lines: 0, linesRead: 0, outputLost: 0 },
    lostRecords: 0,
    areRecordsLost: false,
    isOutputLost: false,
    toldAt: { records: -Infinity, output: -Infinity },
  };
  let timer: Timer | undefined;
  let current: Promise<void> = Promise.resolve();
  let isClosed = false;
  const lookAgain = (): void => {
    current = look(watching).then(() => {
      if (!isClosed) timer = parts.clock.after(lookMs, lookAgain);
    });
  };
  lookAgain();
  return {
    reasons: () => [
      ...(watching.areRecordsLost ? [`${recordsLost} (${parts.cause()})`] : []),
      ...(watching.isOutputLost ? [outputLost] : []),
    ],
    close: async () => {
      isClosed = true;
      timer?.cancel();
      await current;
      await look(watching);
    },
  };
}

const recordsLost = 'records are lost: the access log cannot be written';
const outputLost = 'lines of output are lost: nobody takes them';

async function look(watching: Watching): Promise<void> {
  const now = await watching.parts.counts();
  if (now === undefined) return;
  judgeRecords(watching, now);
  judgeOutput(watching, now);
  watching.last = now;
}

function judgeRecords(watching: Watching, now: LossCounts): void {
  const { last, parts } = watching;
  const isQuiet = now.lines === last.lines;
  // a failed write is a line or more; how many more is known when nothing is under way
  const missing = now.failedWrites > 0 && isQuiet ? now.lines - (now.linesRead ?? now.lines) : 0;
  watching.lostRecords = Math.max(watching.lostRecords, now.failedWrites, missing);
  const lost = watching.lostRecords;
  parts.metrics.setTotal('leafgate_record_lines_lost_total', lost, { reason: 'not-written' });
  if (now.failedWrites > last.failedWrites) {
    const isNew = !watching.areRecordsLost;
    watching.areRecordsLost = true;
    if (isNew || isDue(watching, 'records')) {
      watching.toldAt.records = parts.clock.monotonic();
      parts.log.error(recordsLost, { detail: parts.cause(), lost });
    }
  } else if (watching.areRecordsLost && now.completedWrites > last.completedWrites) {
    watching.areRecordsLost = false;
    parts.log.info('records are written again', { lost });
  }
}

/** a reader that is slow now and then must not fill the log: only the time since the last word counts */
function judgeOutput(watching: Watching, now: LossCounts): void {
  const { last, parts } = watching;
  watching.isOutputLost = now.outputLost > last.outputLost;
  if (!watching.isOutputLost || !isDue(watching, 'output')) return;
  watching.toldAt.output = parts.clock.monotonic();
  parts.log.error(outputLost, { lost: now.outputLost });
}

function isDue({ toldAt, parts }: Watching, what: keyof Watching['toldAt']): boolean {
  return parts.clock.monotonic() - toldAt[what] >= repeatMs;
}
