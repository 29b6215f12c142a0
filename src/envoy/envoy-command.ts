// The command line that Envoy is started with, and the shell line around it that ends Envoy when we are gone. Pure.

export type EnvoyCommand = {
  readonly binary: string;
  readonly bootstrapPath: string;
  /** how long graceful closing is spread when draining */
  readonly drainMs: number;
  /** worker threads; undefined: one a core */
  readonly concurrency?: number;
  readonly logLevel: EnvoyLogLevel;
  /** how long an access-log line may stay in Envoy's buffer */
  readonly fileFlushMs: number;
};

export type EnvoyLogLevel = 'error' | 'warning' | 'info' | 'debug';

/** one JSON object a line, the message escaped: nothing in it can pass for another line */
const logFormat = '{"level":"%l","logger":"%n","message":"%j"}';

function envoyArguments(command: EnvoyCommand): readonly string[] {
  const concurrency = command.concurrency === undefined ? [] : ['--concurrency', String(command.concurrency)];
  return [
    ...['-c', command.bootstrapPath],
    '--disable-hot-restart',
    ...['--drain-time-s', String(Math.max(1, Math.ceil(command.drainMs / 1000)))],
    ...['--file-flush-interval-msec', String(command.fileFlushMs)],
    ...['--log-level', command.logLevel],
    // some hundred lines a start about work-in-progress protos, measured (facts: policy matchers)
    ...['--component-log-level', 'misc:error'],
    ...['--log-format', logFormat],
    ...concurrency,
  ];
}

/** the descriptor on which the watcher below waits */
export const lifelineDescriptor = 3;
/** what tells the watcher that Envoy has ended already and its process id may be somebody else's */
export const lifelineOver = 'over\n';

/**
 * Node cannot ask the kernel to end a child with its parent. So a shell leaves a watcher behind and becomes Envoy itself
 * (same process id, its own exit status). The watcher waits on a pipe that only we hold open: when we are killed, it
 * closes, and the watcher ends Envoy, first politely.
 */
const watchedStart = `
( read -r word <&${lifelineDescriptor}; [ "$word" = over ] && exit 0
  kill -TERM $$; tries=0
  while kill -0 $$ && [ $tries -lt 20 ]; do sleep 0.1; tries=$((tries + 1)); done
  kill -KILL $$
) </dev/null >/dev/null 2>&1 &
exec ${lifelineDescriptor}<&-
exec "$@"
`;

/** `/bin/sh` with the arguments that start `command` under the watcher */
export function watchedCommand(command: EnvoyCommand): { readonly file: string; readonly args: readonly string[] } {
  return { file: '/bin/sh', args: ['-c', watchedStart, 'leafgate-envoy', command.binary, ...envoyArguments(command)] };
}
