// What somebody chose and an auditor would ask about is not said once and forgotten: it is warned about at once, and for as
// long as it is so.
import { minutes, repeat, type Clock, type Timer } from './clock.ts';

const auditEvery = minutes(10);

/** Warns now and every ten minutes, until it is cancelled. */
export function startAudit(clock: Clock, warn: () => void): Timer {
  warn();
  return repeat(clock, auditEvery, warn);
}
