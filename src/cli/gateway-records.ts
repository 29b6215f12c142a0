// From Envoy's access log to the records that people see: the log is followed and kept small, its lines joined, the
// self-check's own requests left out. A run goes on where the one before it stopped.
import { millis, type Timer } from '../clock.ts';
import { createAdminClient } from '../envoy/admin-client.ts';
import { LeafgateError } from '../errors.ts';
import type { AccessRecord } from '../observe/access-record.ts';
import { followLog, type LogFollower } from '../observe/follow-log.ts';
import { beginRun, growingSegment } from '../observe/log-segments.ts';
import { createRecordJoiner } from '../observe/record-joiner.ts';
import { rotateLog, type LogRotation } from '../observe/rotate-log.ts';
import { isRunMarker, runMarker } from '../observe/run-marker.ts';
import type { GatewayPaths } from '../settings/gateway-spec.ts';
import { createShownNote, readShownRecords, type ShownNote, type ShownRecords } from './record-position.ts';
import { isOfSelfCheck, maxLineBytes, segmentsKept, warmUp } from './record-source.ts';
import { createSeldom } from '../observe/seldom.ts';
import { createRecordShow, type RecordShow } from './show-records.ts';
import type { Surroundings } from './surroundings.ts';

export type RecordsParts = Surroundings & {
  readonly paths: Pick<GatewayPaths, 'accessLog' | 'adminSocket'>;
  /** of the access log, all segments together */
  readonly keepBytes: number;
  readonly onRecord: (record: AccessRecord) => void;
  /** settles when all records so far have left this process; false where they were put by */
  readonly recordsTaken: () => Promise<boolean>;
  /** whether an Envoy writes already, whose tunnels go on; default false */
  readonly isEnvoyRunning?: boolean;
};

/** Envoy flushes this often, so that a request is shown while the person still looks at its answer */
export const recordFlushMs = 200;
const pollMs = millis(100);
const sweepMs = millis(1_000);
/** what a stop waits for a reader that takes nothing */
const slowReaderMs = millis(2_000);

export type FollowedRecords = {
  /** lines that this run's Envoy wrote and that were read, whatever was in them; undefined while a reader is behind */
  readonly linesRead: () => number | undefined;
  /** Envoy has ended without us: what it had open is over */
  readonly envoyEnded: () => Promise<void>;
};

/** Call before Envoy starts, where it is ours to start: what is stopped last has then read all that Envoy wrote. */
export async function followRecords(parts: RecordsParts): Promise<FollowedRecords> {
  const { paths, clock, log, closers } = parts;
  const { accessLog: path } = paths;
  const isRunning = parts.isEnvoyRunning ?? false;
  const firstOfRun = isRunning ? await growingSegment(path) : await beginRun(path, runMarker(clock.now()));
  const known = await readShownRecords(path);
  const fresh: ShownRecords = { segment: firstOfRun, offset: 0, sweptAt: clock.now(), isFinished: false };
  const from = known === undefined || known.segment > firstOfRun ? fresh : { ...known, isFinished: false };
  const following: Following = { parts, path, firstOfRun, seldom: createSeldom(clock), lines: 0, isWarming: true };
  const joiner = createRecordJoiner({ lineLost: (reason) => countLost(following, reason) }, undefined, true);
  if (known?.isFinished === false) await warmUp({ path, joiner, until: from });
  following.isWarming = false;
  const shownNote = createShownNote(path, clock, (error) => {
    tellSeldom(following, 'where the records stand could not be noted', error);
  });
  const show = createRecordShow({
    ...{ joiner, from, now: () => clock.now(), note: (shown) => shownNote.write(shown) },
    show: (record) => showRecord(record, parts),
    taken: parts.recordsTaken,
  });
  const follower = follow(following, show, from);
  const rotation = rotate(following, follower);
  const sweeps = repeat(parts, () => show.sweep());
  closers.add('records', () => stop({ follower, rotation, sweeps, show, shownNote, parts }));
  log.debug('records are followed', { path, detail: `from segment ${from.segment}, byte ${from.offset}` });
  return {
    linesRead: () => (show.isReaderBehind() ? undefined : following.lines),
    envoyEnded: () => rotation.beginRun(runMarker(clock.now())),
  };
}

type Following = {
  readonly parts: RecordsParts;
  readonly path: string;
  readonly firstOfRun: number;
  readonly seldom: ReturnType<typeof createSeldom>;
  lines: number;
  isWarming: boolean;
};

function follow(following: Following, show: RecordShow, from: ShownRecords): LogFollower {
  const { parts, path, firstOfRun } = following;
  return followLog({
    ...{ path, from, clock: parts.clock, pollMs, maxLineBytes },
    onBatch: (batch) => {
      if (batch.end.segment >= firstOfRun) {
        following.lines += batch.lines.filter((line) => !isRunMarker(line)).length;
      }
      return show.batch(batch);
    },
    events: {
      lineTooLong: () => {
        following.lines += 1;
        countLost(following, 'too-long');
      },
      lineCut: () => countLost(following, 'cut'),
      truncated: () => parts.log.warn('somebody cut the access log: records may be missing', { path }),
      segmentsMissed: (count) => {
        parts.log.warn('parts of the access log were removed before they were read', { path, lost: count });
      },
      failed: (error) => tellSeldom(following, 'the access log could not be read', error),
    },
  });
}

function rotate(following: Following, follower: LogFollower): LogRotation {
  const { parts, path } = following;
  const { clock, keepBytes, metrics, log } = parts;
  const admin = createAdminClient(parts.paths.adminSocket);
  return rotateLog({
    ...{ path, clock, pollMs, keepBytes, segmentBytes: Math.ceil(keepBytes / segmentsKept) },
    reopen: async () => {
      await admin.post('/reopen_logs');
    },
    reading: () => follower.position().segment,
    events: {
      removedUnread: (lines) => {
        for (let line = 0; line < lines; line += 1) {
          metrics.count('leafgate_record_lines_lost_total', { reason: 'not-read' });
        }
        log.error('records are lost: whoever reads them is further behind than what is kept', { lost: lines });
      },
      failed: (error) => tellSeldom(following, 'the access log could not be rotated', error),
    },
  });
}

type Stopping = {
  readonly follower: LogFollower;
  readonly rotation: LogRotation;
  readonly sweeps: { stop(): void };
  readonly show: RecordShow;
  readonly shownNote: ShownNote;
  readonly parts: RecordsParts;
};

async function stop({ follower, rotation, sweeps, show, shownNote, parts }: Stopping): Promise<void> {
  sweeps.stop();
  await rotation.close();
  const patience = parts.clock.after(slowReaderMs, () => show.giveUp());
  await follower.close();
  const isFinished = await show.finish();
  patience.cancel();
  if (!isFinished) {
    parts.log.warn('whoever reads the records takes none: the next run shows what is left', {
      path: parts.paths.accessLog,
    });
  }
  await shownNote.flush();
}

function repeat({ clock }: RecordsParts, run: () => Promise<void>): { stop(): void } {
  let timer: Timer;
  let isStopped = false;
  const again = (): void => {
    timer = clock.after(sweepMs, () => {
      void run().then(() => {
        if (!isStopped) again();
      });
    });
  };
  again();
  return {
    stop: () => {
      isStopped = true;
      timer.cancel();
    },
  };
}

function countLost({ parts, isWarming }: Following, reason: 'not-json' | 'forgotten' | 'too-long' | 'cut'): void {
  // what an earlier run has counted
  if (!isWarming) parts.metrics.count('leafgate_record_lines_lost_total', { reason });
}

function tellSeldom({ parts, seldom }: Following, sentence: string, error: unknown): void {
  seldom(sentence, (lost) => parts.log.warn(sentence, { detail: LeafgateError.from(error).message, lost }));
}

function showRecord(record: AccessRecord, { metrics, onRecord }: RecordsParts): void {
  if (isOfSelfCheck(record)) return;
  metrics.count('leafgate_records_total', { decision: record.decision, outcome: record.outcome });
  if (record.reason !== undefined) metrics.count('leafgate_record_reasons_total', { reason: record.reason.code });
  onRecord(record);
}
