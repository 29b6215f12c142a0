// What every command gets: where to print, the environment, the clock, signals, and a place for its exit code.
import { exitCodes } from '../errors.ts';
import type { Clock } from '../clock.ts';
import { createLog } from '../observe/create-log.ts';
import type { Log } from '../observe/log.ts';

export type Io = {
  readonly env: { readonly [name: string]: string | undefined };
  readonly clock: Clock;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** what stands on stdin, to its end; no more than is needed to see that it is longer than `most` bytes */
  readonly readStdin: (most: number) => Promise<Uint8Array>;
  /** settles when whoever reads stdout has taken all of it so far, or nobody reads any more */
  readonly stdoutTaken: () => Promise<void>;
  /** whether a terminal sends its signals to us and to our children alike */
  readonly isTerminal: boolean;
  /** lines that no reader took */
  readonly linesLost: () => number;
  /** resolves when all that was printed has left the process; false when its reader took nothing for too long */
  readonly flush: () => Promise<boolean>;
  /** calls `heard` for each SIGINT, SIGTERM or SIGHUP until the returned function is called */
  readonly onSignal: (heard: (signal: NodeJS.Signals) => void) => () => void;
};

export type CommandContext = {
  readonly io: Io;
  readonly exitCode: () => number;
  readonly finishWith: (code: number) => void;
  /** a sentence for the person at the terminal, on stderr */
  readonly say: (sentence: string) => void;
  readonly beVerbose: () => void;
  readonly isVerbose: () => boolean;
  /** `json`: one JSON object a line; else lines for people */
  readonly createLog: (json: boolean) => Log;
};

export function createContext(io: Io): CommandContext {
  let exitCode: number = exitCodes.ok;
  let verbose = false;
  return {
    io,
    exitCode: () => exitCode,
    finishWith: (code) => {
      exitCode = code;
    },
    say: (sentence) => io.stderr(`${sentence}\n`),
    beVerbose: () => {
      verbose = true;
    },
    isVerbose: () => verbose,
    createLog: (json) =>
      createLog({ level: verbose ? 'debug' : 'info', json, destination: { write: (text) => io.stderr(text) } }),
  };
}
