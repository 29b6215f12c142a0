// Where the counts of lost records come from: Envoy's statistics, the follower of its access log, our own output.
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { AdminClient } from '../envoy/admin-client.ts';
import { startLossWatch, type LossCounts, type LossWatch } from './loss-watch.ts';
import type { Surroundings } from './surroundings.ts';

export type RecordLossParts = Surroundings & {
  readonly admin: AdminClient;
  readonly accessLog: string;
  readonly linesRead: () => number | undefined;
  /** lines of stdout and stderr that nobody took */
  readonly outputLost: () => number;
};

/** Call when Envoy runs: it is stopped before Envoy is. */
export function watchRecordLosses(parts: RecordLossParts): LossWatch {
  const watch = startLossWatch({
    ...parts,
    counts: () => readCounts(parts).catch(() => undefined),
    cause: () => causeAt(dirname(parts.accessLog)),
  });
  parts.closers.add('watch over lost records', () => watch.close());
  return watch;
}

async function readCounts({ admin, linesRead, outputLost }: RecordLossParts): Promise<LossCounts> {
  // Envoy writes no other files than the access log
  const stats = await admin.readStats('^filesystem\\.write_(failed|completed|buffered)$');
  const count = (name: string): number => stats.get(`filesystem.write_${name}`) ?? 0;
  return {
    failedWrites: count('failed'),
    completedWrites: count('completed'),
    lines: count('buffered'),
    linesRead: linesRead(),
    outputLost: outputLost(),
  };
}

function causeAt(folder: string): string {
  try {
    const { bavail, ffree, files } = statfsSync(folder);
    if (bavail === 0) return `the disk of ${folder} is full`;
    // some file systems count no inodes
    if (files > 0 && ffree === 0) return `the disk of ${folder} has no room for another file`;
    return `${folder} has room now: look at the system's log`;
  } catch {
    return `${folder} cannot be read`;
  }
}
