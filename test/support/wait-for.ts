// Waiting with a deadline and a reason: tests wait for what they want to see, never for a while.

const defaultDeadlineMs = 10_000;
/** how often a condition that raises no event (a file, a counter of another process) is looked at */
const lookEveryMs = 10;

/** Looks until `look` returns something other than undefined, null or false; `what` completes "waited for …". */
export async function waitFor<T>(
  what: string,
  look: () => T | Promise<T>,
  deadlineMs = defaultDeadlineMs,
): Promise<Exclude<T, undefined | null | false>> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== null && seen !== false) return seen as Exclude<T, undefined | null | false>;
    if (performance.now() > end) throw new Error(`waited ${deadlineMs} ms in vain for ${what}`);
    await pause(lookEveryMs);
  }
}

/** The promise's result, or an error that names what was waited for. */
export async function withDeadline<T>(what: string, promise: Promise<T>, deadlineMs = defaultDeadlineMs): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${deadlineMs} ms in vain for ${what}`)), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** between two looks */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
