// Keeps the process alive while all it does is wait: the timers and connections of ours do not.

/** the longest that Node's timers can wait */
const holdMs = 2 ** 31 - 1;

/** Call what it gives when the wait is over. */
export function holdProcess(): () => void {
  const hold = setInterval(() => undefined, holdMs);
  return () => clearInterval(hold);
}
