// Keeps a log in segments small: closes the growing segment when it is large, asks the writer to open the new one, and removes
// the oldest ones. It never waits for a reader: what had to go unread is counted.
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Clock, DurationMs, Timer } from '../clock.ts';
import {
  beginRun,
  closedSegments,
  closeSegment,
  fileSize,
  growingSegment,
  makeSegment,
  segmentPath,
} from './log-segments.ts';

export type RotateLogOptions = {
  readonly path: string;
  readonly clock: Clock;
  readonly pollMs: DurationMs;
  readonly segmentBytes: number;
  /** all segments together */
  readonly keepBytes: number;
  /** makes the writer open the path anew (Envoy: POST /reopen_logs) */
  readonly reopen: () => Promise<void>;
  /** the segment that is being read; those above it are unread */
  readonly reading: () => number;
  readonly events: {
    /** lines of a segment that was removed unread */
    readonly removedUnread: (lines: number) => void;
    /** it is tried again with the next look */
    readonly failed: (error: unknown) => void;
  };
};

export interface LogRotation {
  /** the writer has ended: what comes next begins a segment of its own with that line; a writer that is back is told */
  beginRun(firstLine: string): Promise<void>;
  close(): Promise<void>;
}

type Rotating = {
  readonly options: RotateLogOptions;
  /** the file was renamed, and the writer has not been told yet */
  isReopenDue: boolean;
};

export function rotateLog(options: RotateLogOptions): LogRotation {
  const rotating: Rotating = { options, isReopenDue: false };
  let isClosed = false;
  let timer: Timer | undefined;
  let current: Promise<void> = Promise.resolve();
  const look = async (): Promise<void> => {
    await lookOnce(rotating).catch((error: unknown) => options.events.failed(error));
    if (!isClosed) timer = options.clock.after(options.pollMs, start);
  };
  const start = (): void => {
    current = current.then(look);
  };
  start();
  return {
    beginRun: (firstLine) => {
      // in turn with the looks: two renames of one segment would lose one of them
      const begun = current.then(async () => {
        await beginRun(options.path, firstLine);
        // one that was back before we noticed has the old segment open
        await options.reopen().catch(() => undefined);
      });
      current = begun.catch(() => undefined);
      return begun;
    },
    close: async () => {
      isClosed = true;
      timer?.cancel();
      await current;
    },
  };
}

async function lookOnce(rotating: Rotating): Promise<void> {
  const { path, segmentBytes, reopen } = rotating.options;
  const size = await fileSize(path);
  // somebody took it away: the writer goes on with what has no name any more
  if (size === undefined) {
    await makeSegment(path);
    rotating.isReopenDue = true;
  } else if (size > segmentBytes) {
    await closeSegment(path, await growingSegment(path));
    rotating.isReopenDue = true;
  }
  if (rotating.isReopenDue) {
    // tried again with every look until it succeeds: the writer goes on with the old file, which is read to its end
    await reopen();
    rotating.isReopenDue = false;
  }
  await removeOldest(rotating.options);
}

async function removeOldest({ path, keepBytes, reading, events }: RotateLogOptions): Promise<void> {
  const numbers = await closedSegments(path);
  const sizes = await Promise.all(numbers.map(async (number) => (await fileSize(segmentPath(path, number))) ?? 0));
  let total = sizes.reduce((sum, size) => sum + size, (await fileSize(path)) ?? 0);
  for (const [index, number] of numbers.entries()) {
    if (total <= keepBytes) return;
    // who is reading a segment has it open, and reads it to its end
    if (number > reading()) events.removedUnread(await countLines(segmentPath(path, number)));
    await rm(segmentPath(path, number), { force: true });
    total -= sizes[index] ?? 0;
  }
}

const newline = 0x0a;

async function countLines(path: string): Promise<number> {
  let count = 0;
  for await (const chunk of createReadStream(path)) {
    const bytes: Uint8Array = chunk as Buffer;
    for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) count += 1;
  }
  return count;
}
