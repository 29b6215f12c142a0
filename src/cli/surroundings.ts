// What every edge of a running command is given.
import type { Clock } from '../clock.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { Log } from '../observe/log.ts';
import type { Closers } from './closers.ts';

export type Surroundings = {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** what was started is added here, to be stopped in the reverse order */
  readonly closers: Closers;
};
