// Reads the whole lines of one segment of a log, from its start to a place in it or to its end.
import { createLineSplitter } from './line-splitter.ts';
import { openSegment } from './log-segments.ts';

export type ReadSegmentOptions = {
  readonly path: string;
  readonly number: number;
  /** a place between two lines; absent reads all of it */
  readonly untilOffset?: number;
  readonly maxLineBytes: number;
  readonly onLine: (line: string) => void;
};

const chunkBytes = 64 * 1024;

/** A segment that is gone has no lines; lines above the limit are left out. */
export async function readSegment(options: ReadSegmentOptions): Promise<void> {
  const { path, number, untilOffset = Infinity, maxLineBytes, onLine } = options;
  const handle = await openSegment(path, number);
  if (handle === undefined) return;
  const splitter = createLineSplitter(maxLineBytes, onLine, () => undefined);
  const buffer = new Uint8Array(chunkBytes);
  try {
    for (let offset = 0; offset < untilOffset;) {
      const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, untilOffset - offset), offset);
      if (bytesRead === 0) return;
      offset += bytesRead;
      splitter.take(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}
