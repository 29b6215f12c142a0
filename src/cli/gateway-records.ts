// From Envoy's access log to the records that people see: the file is followed and kept small, its lines joined, the
// self-check's own requests left out.
import { renameSync } from 'node:fs';
import { millis, type Clock, type Timer } from '../clock.ts';
import { createAdminClient } from '../envoy/admin-client.ts';
import { LeafgateError } from '../errors.ts';
import type { AccessRecord } from '../observe/access-record.ts';
import { followFile, type FileFollower } from '../observe/follow-file.ts';
import { createRecordJoiner } from '../observe/record-joiner.ts';
import { selfCheckHost } from '../settings/gateway-spec.ts';
import type { GatewaySpec } from '../settings/gateway-spec.ts';
import { createSeldom } from './seldom.ts';
import type { Surroundings } from './surroundings.ts';

export type RecordsParts = Surroundings & {
  readonly spec: GatewaySpec;
  readonly onRecord: (record: AccessRecord) => void;
};

/** Envoy flushes this often, so that a request is shown while the person still looks at its answer */
export const recordFlushMs = 200;
const pollMs = millis(100);
const sweepMs = millis(1_000);
/** the names of an origin's certificate stand in the reason twice, and there may be thousands */
const maxLineBytes = 1024 * 1024;
/** two of them at most, about 60,000 requests each */
const rotateAtBytes = 64 * 1024 * 1024;

export type FollowedRecords = {
  /** lines of the access log so far, whatever was in them */
  readonly linesRead: () => number;
};

/** Call before Envoy starts: what is stopped last has then read all that Envoy wrote. */
export async function followRecords(parts: RecordsParts): Promise<FollowedRecords> {
  const { spec, clock, log, metrics, closers } = parts;
  const path = spec.paths.accessLog;
  setAside(path);
  const joiner = createRecordJoiner({
    lineLost: (reason) => metrics.count('leafgate_record_lines_lost_total', { reason }),
  });
  const show = (records: readonly AccessRecord[]): void => {
    for (const record of records) showRecord(record, parts);
  };
  let linesRead = 0;
  const seldom = createSeldom(clock);
  const admin = createAdminClient(spec.paths.adminSocket);
  const follower = await followFile({
    ...{ path, clock, pollMs, maxLineBytes, rotateAtBytes },
    reopen: async () => {
      await admin.post('/reopen_logs');
    },
    onLine: (line) => {
      linesRead += 1;
      show(joiner.take(line, clock.now()));
    },
    events: {
      lineTooLong: () => {
        linesRead += 1;
        metrics.count('leafgate_record_lines_lost_total', { reason: 'too-long' });
      },
      truncated: () => log.warn('somebody cut the access log: records may be missing', { path }),
      failed: (error) =>
        seldom('unreadable', (lost) =>
          log.warn('the access log could not be read', { detail: LeafgateError.from(error).message, lost }),
        ),
    },
  });
  closers.add('records', stopper({ follower, clock, sweep: () => show(joiner.sweep(clock.now())) }));
  return { linesRead: () => linesRead };
}

type Sweeping = { readonly follower: FileFollower; readonly clock: Clock; readonly sweep: () => void };

/** Starts the sweeps; what it returns stops them and reads the rest. */
function stopper({ follower, clock, sweep }: Sweeping): () => Promise<void> {
  let timer: Timer;
  const sweepAgain = (): void => {
    sweep();
    timer = clock.after(sweepMs, sweepAgain);
  };
  timer = clock.after(sweepMs, sweepAgain);
  return async () => {
    timer.cancel();
    await follower.close();
    sweep();
  };
}

function showRecord(record: AccessRecord, { metrics, onRecord }: RecordsParts): void {
  // a client that only writes this name into its Host header is refused, and that is shown
  if (record.host === selfCheckHost && record.outcome !== 'refused') return;
  metrics.count('leafgate_records_total', { decision: record.decision, outcome: record.outcome });
  onRecord(record);
}

/** the lines of an earlier run were shown by that run */
function setAside(path: string): void {
  try {
    renameSync(path, `${path}.1`);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}
