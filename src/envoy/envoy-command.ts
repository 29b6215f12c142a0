// The command line that Envoy is started with, and the shell line around it that ends Envoy when we are gone. Pure.
import { lifelineDescriptor, lifelineFunctions, tenths } from '../lifeline.ts';

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

/** SIGTERM takes 0.3 s (measured); after this it is stuck */
export const termGraceMs = 2_000;

/**
 * The shell leaves the one that waits on the lifeline behind and becomes Envoy itself (same process id, its own exit
 * status), so that there is no moment in which nobody would end it. Where the system has setpriv (util-linux), the kernel
 * itself tells Envoy of our end as well, should both of us be killed at once.
 */
const watchedStart = `
( ${lifelineFunctions}
await_end $$ ${tenths(termGraceMs)}
) </dev/null >/dev/null 2>&1 &
exec ${lifelineDescriptor}<&-
pdeath="setpriv --pdeathsig TERM"
$pdeath true 2>/dev/null && exec $pdeath "$@"
exec "$@"
`;

/** `/bin/sh` with the arguments that start `command` under its lifeline */
export function watchedCommand(command: EnvoyCommand): { readonly file: string; readonly args: readonly string[] } {
  return { file: '/bin/sh', args: ['-c', watchedStart, 'leafgate-envoy', command.binary, ...envoyArguments(command)] };
}
