// Follows a file that another process appends to: whole lines, in order, each once; keeps the file small by renaming it
// and asking the writer to open a new one. Must not know what the lines say.
import { open, rename, stat, type FileHandle } from 'node:fs/promises';
import type { Clock, DurationMs, Timer } from '../clock.ts';
import { createLineSplitter, type LineSplitter } from './line-splitter.ts';

export type FollowFileOptions = {
  readonly path: string;
  readonly clock: Clock;
  /** how often to look; a look at a quiet file is one stat */
  readonly pollMs: DurationMs;
  readonly maxLineBytes: number;
  /** rotate when the file is larger; the one before is kept as `<path>.1` */
  readonly rotateAtBytes: number;
  /** makes the writer open the path anew (Envoy: POST /reopen_logs) */
  readonly reopen: () => Promise<void>;
  readonly onLine: (line: string) => void;
  readonly events: FollowFileEvents;
};

type FollowFileEvents = {
  readonly lineTooLong: () => void;
  /** the file became shorter under us: somebody truncated it, lines may be lost */
  readonly truncated: () => void;
  /** reading or rotating failed; it is tried again with the next look */
  readonly failed: (error: unknown) => void;
};

export interface FileFollower {
  /** reads what is there now, then stops; call it after the writer has ended to miss nothing */
  close(): Promise<void>;
}

const chunkBytes = 64 * 1024;
/** the file holds host names and paths of all clients */
const fileMode = 0o600;

type Following = {
  readonly options: FollowFileOptions;
  readonly splitter: LineSplitter;
  readonly buffer: Uint8Array;
  handle: FileHandle;
  offset: number;
  /** the file was renamed, and the writer has not been told yet */
  isReopenDue: boolean;
};

/** Makes the file when it is missing, reads it from its start, and goes on until closed. */
export async function followFile(options: FollowFileOptions): Promise<FileFollower> {
  const following: Following = {
    options,
    splitter: createLineSplitter(options.maxLineBytes, options.onLine, options.events.lineTooLong),
    buffer: new Uint8Array(chunkBytes),
    handle: await openForReading(options.path),
    offset: 0,
    isReopenDue: false,
  };
  let isClosed = false;
  let timer: Timer | undefined;
  let current: Promise<void> = Promise.resolve();
  const look = async (): Promise<void> => {
    await lookOnce(following).catch((error: unknown) => options.events.failed(error));
    if (!isClosed) timer = options.clock.after(options.pollMs, start);
  };
  const start = (): void => {
    current = look();
  };
  start();
  return {
    close: async () => {
      isClosed = true;
      timer?.cancel();
      await current;
      await lookOnce(following).catch((error: unknown) => options.events.failed(error));
      await following.handle.close();
    },
  };
}

/** A new file is ours, private, before the writer opens it; `a+` never cuts what is there. */
function openForReading(path: string): Promise<FileHandle> {
  return open(path, 'a+', fileMode);
}

async function lookOnce(following: Following): Promise<void> {
  await readToEnd(following);
  if (following.isReopenDue) await askToReopen(following);
  const current = await stat(following.options.path).catch(() => undefined);
  const own = await following.handle.stat();
  if (current?.ino === own.ino) {
    if (own.size > following.options.rotateAtBytes) await rotate(following);
    return;
  }
  // The writer opens the new file before it writes there, and writes to the old one never again: with the first byte in
  // the new one, the old one is complete.
  if (current !== undefined && current.size > 0) await changeOver(following);
}

async function changeOver(following: Following): Promise<void> {
  await readToEnd(following);
  await following.handle.close();
  following.handle = await openForReading(following.options.path);
  following.offset = 0;
  following.splitter.reset();
  await readToEnd(following);
}

async function readToEnd(following: Following): Promise<void> {
  const { handle, buffer, splitter, options } = following;
  const { size } = await handle.stat();
  if (size < following.offset) {
    options.events.truncated();
    splitter.reset();
    following.offset = 0;
  }
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, following.offset);
    if (bytesRead === 0) return;
    following.offset += bytesRead;
    splitter.take(buffer.subarray(0, bytesRead));
  }
}

async function rotate(following: Following): Promise<void> {
  const { path } = following.options;
  await rename(path, `${path}.1`);
  const fresh = await openForReading(path);
  await fresh.close();
  following.isReopenDue = true;
  await askToReopen(following);
}

/** tried again with every look until it succeeds: the writer goes on with the old file, which is read to its end */
async function askToReopen(following: Following): Promise<void> {
  await following.options.reopen();
  following.isReopenDue = false;
}
