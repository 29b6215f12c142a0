// What this process could not log, as a metric of every server.
import type { Metrics } from '../observe/create-metrics.ts';
import type { Io } from './command-context.ts';

export function countLostLines(metrics: Metrics, io: Pick<Io, 'linesLost'>): void {
  metrics.beforeScrape(() => metrics.setTotal('leafgate_log_lines_lost_total', io.linesLost()));
}
