// Follows a log in segments that another process appends to: whole lines, in order, each once, at the speed of whoever takes
// them. Must not know what the lines say, nor rotate anything: several may follow one log.
import type { FileHandle } from 'node:fs/promises';
import { stat } from 'node:fs/promises';
import type { Clock, DurationMs, Timer } from '../clock.ts';
import { createLineSplitter, type LineSplitter } from './line-splitter.ts';
import { closedSegments, fileSize, growingSegment, openSegment, type LogPosition } from './log-segments.ts';

export type LogBatch = {
  readonly lines: readonly string[];
  /** just behind the last of the lines */
  readonly end: LogPosition;
};

export type FollowLogOptions = {
  readonly path: string;
  readonly clock: Clock;
  /** how often to look; a look at a quiet log is two stats and a list of its folder */
  readonly pollMs: DurationMs;
  readonly maxLineBytes: number;
  readonly from: LogPosition;
  /** nothing more is read until it settles; false ends the reading for good */
  readonly onBatch: (batch: LogBatch) => Promise<boolean>;
  readonly events: FollowLogEvents;
};

type FollowLogEvents = {
  readonly lineTooLong: () => void;
  /** a segment ended within a line: the writer was killed, or its disk was full */
  readonly lineCut: () => void;
  /** a file became shorter under us: somebody truncated it, lines may be lost */
  readonly truncated: () => void;
  /** so many segments were removed before they were read */
  readonly segmentsMissed: (count: number) => void;
  /** reading failed; it is tried again with the next look */
  readonly failed: (error: unknown) => void;
};

export interface LogFollower {
  /** just behind the last line that was taken */
  position(): LogPosition;
  /** whether all that was there at the last look has been taken */
  isAtEnd(): boolean;
  /** reads what is there now, then stops; call it after the writer has ended to miss nothing */
  close(): Promise<void>;
}

const chunkBytes = 64 * 1024;

type Following = {
  readonly options: FollowLogOptions;
  readonly splitter: LineSplitter;
  readonly buffer: Uint8Array;
  /** lines of the chunk at hand */
  lines: string[];
  handle: FileHandle | undefined;
  segment: number;
  /** just behind the last byte read */
  offset: number;
  taken: LogPosition;
  isAtEnd: boolean;
  isEnded: boolean;
};

export function followLog(options: FollowLogOptions): LogFollower {
  const following = createFollowing(options);
  let isClosed = false;
  let timer: Timer | undefined;
  let current: Promise<void> = Promise.resolve();
  const look = async (): Promise<void> => {
    await lookOrFail(following);
    if (!isClosed && !following.isEnded) timer = options.clock.after(options.pollMs, start);
  };
  const start = (): void => {
    current = look();
  };
  start();
  return {
    position: () => following.taken,
    isAtEnd: () => following.isAtEnd,
    close: async () => {
      isClosed = true;
      timer?.cancel();
      await current;
      await lookOrFail(following);
      await following.handle?.close();
    },
  };
}

function createFollowing(options: FollowLogOptions): Following {
  const following: Following = {
    options,
    splitter: createLineSplitter(
      options.maxLineBytes,
      (line) => void following.lines.push(line),
      options.events.lineTooLong,
    ),
    buffer: new Uint8Array(chunkBytes),
    lines: [],
    handle: undefined,
    segment: options.from.segment,
    offset: options.from.offset,
    taken: options.from,
    isAtEnd: false,
    isEnded: false,
  };
  return following;
}

/** A failure is told, and the next look begins with what was not taken. */
async function lookOrFail(following: Following): Promise<void> {
  try {
    await lookOnce(following);
  } catch (error) {
    following.options.events.failed(error);
    await following.handle?.close().catch(() => undefined);
    following.handle = undefined;
    following.splitter.reset();
    following.lines = [];
    following.offset = following.taken.offset;
  }
}

async function lookOnce(following: Following): Promise<void> {
  following.isAtEnd = false;
  while (!following.isEnded) {
    following.handle ??= await openSegment(following.options.path, following.segment);
    if (!(await readToEnd(following))) return;
    const next = await nextSegment(following);
    if (next === undefined) break;
    // Whoever writes opens the new segment before it writes there, and writes to the old one never again: with the first
    // byte in the new one, the old one is complete.
    if (!(await readToEnd(following))) return;
    await changeOver(following, next);
  }
  following.isAtEnd = true;
}

/** Undefined while this segment may grow. */
async function nextSegment({ options, segment, handle }: Following): Promise<number | undefined> {
  const { path, events } = options;
  let closed = await closedSegments(path);
  if ((closed.at(-1) ?? 0) < segment) {
    if (!(await isElsewhere(path, handle))) return undefined;
    // unless a rotation fell between the two looks: then it has its number by now
    closed = await closedSegments(path);
  }
  const last = closed.at(-1) ?? 0;
  if (last < segment) return segment;
  const next = closed.find((number) => number > segment) ?? last + 1;
  if (next > last && !((await fileSize(path)) ?? 0)) return undefined;
  if (next > segment + 1 && handle !== undefined) events.segmentsMissed(next - segment - 1);
  if (handle === undefined) events.segmentsMissed(next - segment);
  return next;
}

/** somebody else has renamed the growing file, and there is a new one that the writer writes to */
async function isElsewhere(path: string, handle: FileHandle | undefined): Promise<boolean> {
  if (handle === undefined) return false;
  const current = await stat(path).catch(() => undefined);
  return current !== undefined && current.size > 0 && current.ino !== (await handle.stat()).ino;
}

async function changeOver(following: Following, next: number): Promise<void> {
  await following.handle?.close();
  following.handle = undefined;
  if (following.splitter.pendingBytes() > 0) following.options.events.lineCut();
  following.splitter.reset();
  following.segment = next;
  following.offset = 0;
  following.taken = { segment: next, offset: 0 };
}

/** False when nothing more shall be read. */
async function readToEnd(following: Following): Promise<boolean> {
  const { buffer, splitter, options, handle } = following;
  if (handle === undefined) return true;
  const { size } = await handle.stat();
  if (size < following.offset) {
    options.events.truncated();
    splitter.reset();
    following.offset = 0;
  }
  while (!following.isEnded) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, following.offset);
    if (bytesRead === 0) return true;
    following.offset += bytesRead;
    splitter.take(buffer.subarray(0, bytesRead));
    await handOver(following);
  }
  return false;
}

async function handOver(following: Following): Promise<void> {
  const { lines, segment, offset, splitter, options } = following;
  if (lines.length === 0) return;
  following.lines = [];
  const end = { segment, offset: offset - splitter.pendingBytes() };
  if (await options.onBatch({ lines, end })) following.taken = end;
  else following.isEnded = true;
}

/** Where the oldest line that is kept stands. */
export async function oldestPosition(path: string): Promise<LogPosition> {
  const [oldest] = await closedSegments(path);
  return { segment: oldest ?? (await growingSegment(path)), offset: 0 };
}
