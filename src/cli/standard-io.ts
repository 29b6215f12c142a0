// The process as a command sees it. A slow or closed reader of stdout or stderr (`| head`) must neither stop nor end a
// gateway, so that both are written by line-writer.ts.
import type { Clock } from '../clock.ts';
import { createLineWriter } from '../observe/line-writer.ts';
import type { Io } from './command-context.ts';

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const stdoutDescriptor = 1;
const stderrDescriptor = 2;
/** a reader that takes nothing for this long does not keep a command from ending */
const flushDeadlineMs = 2_000;

export function standardIo(host: NodeJS.Process, clock: Clock): Io {
  const out = createLineWriter({ descriptor: stdoutDescriptor });
  const err = createLineWriter({ descriptor: stderrDescriptor });
  return {
    env: host.env,
    clock,
    stdout: (text) => out.write(text),
    stderr: (text) => err.write(text),
    readStdin: (most) => readAll(host.stdin, most),
    stdoutTaken: () => out.taken(),
    isTerminal: host.stdin.isTTY,
    linesLost: () => out.lost() + err.lost(),
    flush: async () => {
      const written = await Promise.all([out.flush(flushDeadlineMs), err.flush(flushDeadlineMs)]);
      return written.every(Boolean);
    },
    onSignal: (heard) => {
      for (const signal of signals) host.on(signal, heard);
      return () => {
        for (const signal of signals) host.off(signal, heard);
      };
    },
  };
}

async function readAll(stream: AsyncIterable<Buffer | string>, most: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    length += bytes.length;
    if (length > most) break;
  }
  return Buffer.concat(chunks);
}
