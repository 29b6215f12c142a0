// Writes lines to a descriptor without ever blocking the event loop, throwing, or growing: a slow or closed reader costs
// lines, which are counted, and nothing else. Must not know what the lines say.
import { pino } from 'pino';

export interface LineWriter {
  /** settles when all lines so far have been taken by whoever reads, or nobody reads any more */
  taken(): Promise<void>;
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
/** a full disk is looked at again this often */
const retryMs = 500;

/**
 * Node's own process.stderr writes to pipes synchronously, so a reader that stops would stop the handshakes; this writes
 * in the thread pool.
 */
export function createLineWriter(options: LineWriterOptions): LineWriter {
  const maxLength = options.maxBufferedBytes ?? defaultBufferedBytes;
  const stream = pino.destination({ dest: options.descriptor, sync: false, maxLength, minLength: 1 });
  const pending = createPending(() => stream.flush(() => undefined));
  let lost = 0;
  let isGone = false;
  stream.on('drop', (line: string) => {
    lost += 1;
    pending.remove(Buffer.byteLength(line));
  });
  stream.on('write', (bytes: number) => pending.remove(bytes));
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EBADF') {
      pending.refused();
      return;
    }
    // nobody reads any more, and nobody will
    isGone = true;
    lost += 1;
    pending.remove(Infinity);
  });
  return {
    write: (line) => {
      if (isGone) {
        lost += 1;
        return;
      }
      pending.add(Buffer.byteLength(line));
      stream.write(line);
    },
    taken: () => pending.none(),
    lost: () => lost,
    flush: (deadlineMs) => (isGone ? Promise.resolve(true) : flushWithin(stream, deadlineMs)),
  };
}

type Pending = {
  add(bytes: number): void;
  remove(bytes: number): void;
  /** the system took nothing, as on a full disk: it stays, and is tried again with the next line or when somebody waits */
  refused(): void;
  /** settles when there are none */
  none(): Promise<void>;
};

function createPending(tryAgain: () => void): Pending {
  let count = 0;
  let isRefused = false;
  let waiting: (() => void)[] = [];
  const retry = (): void => void setTimeout(tryAgain, retryMs).unref();
  return {
    add: (bytes) => (count += bytes),
    remove: (bytes) => {
      isRefused = false;
      count = Math.max(0, count - bytes);
      if (count > 0) return;
      const settled = waiting;
      waiting = [];
      for (const done of settled) done();
    },
    refused: () => {
      isRefused = true;
      if (waiting.length > 0) retry();
    },
    none: () => {
      if (count === 0) return Promise.resolve();
      if (isRefused && waiting.length === 0) retry();
      return new Promise((resolve) => void waiting.push(resolve));
    },
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
