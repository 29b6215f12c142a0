// Ends another process when this one is gone, however it went. Node cannot ask the kernel for that, so a shell waits on a
// pipe that only we hold open: when we are killed it closes, and the shell ends the process, first politely. A shell that
// is killed itself is replaced. Must not know what the process is.
import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { millis, type Clock } from './clock.ts';

export interface Lifeline {
  /** the process has ended, and its id may be somebody else's: nobody is ended any more */
  release(): void;
}

export type LifelineOptions = {
  readonly pid: number;
  readonly clock: Clock;
  /** between SIGTERM and SIGKILL, once we are gone */
  readonly graceMs: number;
  /** our end of the pipe of a shell that waits already */
  readonly first?: Socket;
  /** a shell ended although nobody told it to; another one is started */
  readonly onLost: () => void;
};

/** the descriptor of the pipe in the shell */
export const lifelineDescriptor = 3;
/** what tells the shell that there is nothing to end */
const over = 'over';
/** a shell that is killed at once again must not cost a start a moment */
const restartMs = millis(1_000);

/**
 * `await_end PID TENTHS` waits and ends the process, unless another one has got its id: the start time tells (proc(5),
 * field 22; where there is no /proc, it is empty both times).
 */
export const lifelineFunctions = `
born() { { read -r stat </proc/$1/stat && stat=\${stat##*) } && set -- $stat && echo "\${20}"; } 2>/dev/null; }
lives() { kill -0 $1 && [ "$(born $1)" = "$2" ]; }
await_end() {
  birth=$(born $1)
  IFS= read -r word <&${lifelineDescriptor}; [ "$word" = ${over} ] && exit 0
  lives $1 "$birth" || exit 0
  kill -TERM $1
  tries=0
  while lives $1 "$birth" && [ $tries -lt $2 ]; do sleep 0.1; tries=$((tries + 1)); done
  lives $1 "$birth" && kill -KILL $1
}`;

/** how long `await_end` waits, in its unit */
export function tenths(ms: number): number {
  return Math.max(1, Math.ceil(ms / 100));
}

export function holdLifeline(options: LifelineOptions): Lifeline {
  const { clock } = options;
  let isReleased = false;
  let current: Socket | undefined;
  let restartedAt = -Infinity;
  const hold = (pipe: Socket): void => {
    current = pipe;
    // a pipe whose reader is gone says so here; that it closed is what counts
    pipe.on('error', () => undefined).once('close', lost);
    // without a reader its end would go unnoticed
    pipe.resume();
  };
  const lost = (): void => {
    if (isReleased) return;
    options.onLost();
    if (clock.monotonic() - restartedAt > restartMs) startAgain();
    else clock.after(restartMs, startAgain);
  };
  const startAgain = (): void => {
    if (isReleased) return;
    restartedAt = clock.monotonic();
    hold(startShell(options));
  };
  hold(options.first ?? startShell(options));
  return {
    release: () => {
      isReleased = true;
      current?.end(`${over}\n`);
    },
  };
}

/** in a session of its own, so that neither a Ctrl-C nor the end of our terminal ends it before us */
function startShell({ pid, graceMs }: LifelineOptions): Socket {
  const script = `${lifelineFunctions}\nawait_end ${pid} ${tenths(graceMs)}`;
  const shell = spawn('/bin/sh', ['-c', script, 'leafgate-lifeline'], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
  });
  const pipe = shell.stdio[lifelineDescriptor];
  if (!(pipe instanceof Socket)) throw new Error('spawn gave no pipe');
  // where no shell can be started, the pipe closes, which is what is listened for
  shell.on('error', () => undefined).unref();
  pipe.unref();
  return pipe;
}
