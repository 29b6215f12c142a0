// Writes lines to a descriptor without ever blocking the event loop, throwing, or growing: a slow or closed reader costs
// lines, which are counted, and nothing else. Must not know what the lines say.
import { pino } from 'pino';

export interface LineWriter {
  /** one line with its newline; dropped and counted when the buffer is full or the reader is gone */
  write(line: string): void;
  /** lines dropped since the start */
  lost(): number;
  /** waits, at most `deadlineMs`, until what is buffered is written or the system has refused it; false when it still waits */
  flush(deadlineMs: number): Promise<boolean>;
}

export type LineWriterOptions = {
  readonly descriptor: number;
  /** how much a reader may fall behind; default 4 MiB, some 20,000 lines */
  readonly maxBufferedBytes?: number;
};

const defaultBufferedBytes = 4 * 1024 * 1024;

/**
 * Node's own process.stderr writes to pipes synchronously, so a reader that stops would stop the handshakes; this writes
 * in the thread pool.
 */
export function createLineWriter(options: LineWriterOptions): LineWriter {
  const maxLength = options.maxBufferedBytes ?? defaultBufferedBytes;
  const stream = pino.destination({ dest: options.descriptor, sync: false, maxLength, minLength: 1 });
  let lost = 0;
  let isGone = false;
  stream.on('drop', () => (lost += 1));
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // what could not be written, as on a full disk, stays in the buffer and is tried again with the next line
    if (error.code !== 'EPIPE' && error.code !== 'EBADF') return;
    // nobody reads any more, and nobody will
    isGone = true;
    lost += 1;
  });
  return {
    write: (line) => {
      if (isGone) lost += 1;
      else stream.write(line);
    },
    lost: () => lost,
    flush: (deadlineMs) => (isGone ? Promise.resolve(true) : flushWithin(stream, deadlineMs)),
  };
}

type Flushable = { flush(done: (error?: Error | null) => void): void };

function flushWithin(stream: Flushable, deadlineMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), deadlineMs);
    stream.flush(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
