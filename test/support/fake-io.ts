// A terminal for `runCommandLine`: keeps what was printed, has its own environment, and signals that a test sends.
import type { Io } from '../../src/cli/command-context.ts';
import type { Clock } from '../../src/clock.ts';
import { systemClock } from '../../src/clock.ts';

export type FakeIo = {
  readonly io: Io;
  stdout(): string;
  stderr(): string;
  signal(signal: NodeJS.Signals): void;
  /** what the next reader of stdin gets; nothing unless said */
  type(text: string): void;
};

export function createFakeIo(env: Readonly<Record<string, string>> = {}, clock: Clock = systemClock): FakeIo {
  const printed = { out: '', err: '' };
  let typed = '';
  const listeners = new Set<(signal: NodeJS.Signals) => void>();
  return {
    stdout: () => printed.out,
    stderr: () => printed.err,
    signal: (signal) => {
      for (const heard of listeners) heard(signal);
    },
    type: (text) => {
      typed = text;
    },
    io: {
      readStdin: () => Promise.resolve(Buffer.from(typed)),
      env,
      clock,
      stdout: (text) => {
        printed.out += text;
      },
      stderr: (text) => {
        printed.err += text;
      },
      stdoutTaken: () => Promise.resolve(),
      isTerminal: false,
      linesLost: () => 0,
      flush: () => Promise.resolve(true),
      onSignal: (heard) => {
        listeners.add(heard);
        return () => listeners.delete(heard);
      },
    },
  };
}
