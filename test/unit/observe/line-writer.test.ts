import { execFileSync } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLineWriter } from '../../../src/observe/line-writer.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('a line writer', () => {
  let folder: TempFolder;
  let fifo: string;
  beforeEach(() => {
    folder = createTempFolder();
    fifo = folder.file('pipe');
    execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', fifo]);
  });
  afterEach(() => folder.remove());

  test('writes lines in order', async () => {
    const descriptor = openSync(fifo, constants.O_RDWR);
    const writer = createLineWriter({ descriptor });
    writer.write('one\n');
    writer.write('two\n');
    await writer.flush(5_000);
    const buffer = Buffer.alloc(100);
    expect(buffer.toString('utf8', 0, readSync(descriptor, buffer))).toBe('one\ntwo\n');
    expect(writer.lost()).toBe(0);
    closeSync(descriptor);
  });

  test('a reader that stops costs counted lines, not the event loop, and gets on when it reads again', async () => {
    // opened for both, so that opening does not wait and nobody reads
    const descriptor = openSync(fifo, constants.O_RDWR);
    const writer = createLineWriter({ descriptor, maxBufferedBytes: 256 * 1024 });
    const line = `${'x'.repeat(999)}\n`;
    for (let at = 0; at < 1_000; at += 1) writer.write(line);
    expect(writer.lost()).toBeGreaterThan(500);
    const lostSoFar = writer.lost();
    // the event loop turns: a blocking write would hang here for good
    await new Promise((resolve) => setImmediate(resolve));
    const flushed = writer.flush(10_000);
    const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
    let read = 0;
    await waitFor('all that was kept', () => {
      read += readSome(reader);
      return read === (1_000 - lostSoFar) * line.length;
    });
    await flushed;
    expect(writer.lost()).toBe(lostSoFar);
    closeSync(reader);
    closeSync(descriptor);
  });

  test('says when its reader has taken all, and not before', async () => {
    const descriptor = openSync(fifo, constants.O_RDWR);
    const writer = createLineWriter({ descriptor });
    // more than a pipe holds
    for (let at = 0; at < 200; at += 1) writer.write(`${'x'.repeat(999)}\n`);
    let isTaken = false;
    void writer.taken().then(() => (isTaken = true));
    const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
    let read = 0;
    await waitFor('most of it', () => {
      read += readSome(reader);
      return read >= 100_000;
    });
    expect(isTaken).toBe(false);
    await waitFor('the rest', () => {
      read += readSome(reader);
      return isTaken;
    });
    expect(writer.lost()).toBe(0);
    await writer.taken();
    closeSync(reader);
    closeSync(descriptor);
  });

  test('waits for no reader that is gone', async () => {
    const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
    const descriptor = openSync(fifo, constants.O_WRONLY);
    const writer = createLineWriter({ descriptor });
    closeSync(reader);
    writer.write('nobody reads\n');
    await writer.taken();
    expect(writer.lost()).toBe(1);
    closeSync(descriptor);
  });

  test.skipIf(!existsSync('/dev/full'))('goes on trying while somebody waits, as on a full disk', async () => {
    const descriptor = openSync('/dev/full', constants.O_WRONLY);
    const writer = createLineWriter({ descriptor });
    writer.write('a line\n');
    await writer.flush(10_000);
    let isTaken = false;
    void writer.taken().then(() => (isTaken = true));
    expect(isTaken).toBe(false);
    closeSync(descriptor);
    // it is tried again without another line: a closed descriptor is as a reader that is gone
    await waitFor('the wait to end', () => isTaken);
  });

  test.skipIf(!existsSync('/dev/full'))('a full disk costs no line: all is tried again with the next one', async () => {
    const descriptor = openSync('/dev/full', constants.O_WRONLY);
    const writer = createLineWriter({ descriptor, maxBufferedBytes: 100 });
    writer.write(`${'x'.repeat(49)}\n`);
    expect(await writer.flush(10_000)).toBe(true);
    expect(writer.lost()).toBe(0);
    // the buffer has its bound all the same
    for (let at = 0; at < 3; at += 1) writer.write(`${'x'.repeat(49)}\n`);
    expect(writer.lost()).toBe(2);
    closeSync(descriptor);
  });

  test('a reader that is gone is no crash: EPIPE is counted, and so is each line after it', async () => {
    const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
    const descriptor = openSync(fifo, constants.O_WRONLY);
    const writer = createLineWriter({ descriptor });
    closeSync(reader);
    writer.write('nobody reads\n');
    await waitFor('the loss to be counted', () => writer.lost() === 1);
    writer.write('nor this\n');
    expect(writer.lost()).toBe(2);
    await writer.flush(5_000);
    closeSync(descriptor);
  });

  test('a flush waits no longer than it is told to', async () => {
    const descriptor = openSync(fifo, constants.O_RDWR);
    const writer = createLineWriter({ descriptor });
    for (let at = 0; at < 200; at += 1) writer.write(`${'x'.repeat(999)}\n`);
    await writer.flush(20);
    const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
    // lets the blocked write go, so that the process can end
    await waitFor('the pipe to be empty', () => {
      try {
        readSync(reader, Buffer.alloc(64 * 1024));
        return false;
      } catch {
        return true;
      }
    });
    await writer.flush(5_000);
    closeSync(reader);
    closeSync(descriptor);
  });
});

/** how many bytes were there; none is no error of a pipe that nobody blocks on */
function readSome(descriptor: number): number {
  try {
    return readSync(descriptor, Buffer.alloc(8 * 1024));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
    throw error;
  }
}
