// How long to wait after each failure in a row: longer each time up to a limit, scattered so that many clients do not
// come back together, and short again after a healthy time. Pure.
import { millis, seconds } from '../clock.ts';
import type { DurationMs } from '../clock.ts';

export type BackoffSteps = { readonly firstMs: number; readonly limitMs: number };

/** client-go's reflector: 0.8 s, doubled, at most 30 s */
const reflectorSteps: BackoffSteps = { firstMs: 800, limitMs: seconds(30) };
/**
 * As long as the longest wait: what lasted so long is well, and the next wait is short again. After client-go's two minutes,
 * a load balancer that cuts what is idle for one would leave a watch blind for half a minute out of each.
 */
export const healthyAfterMs = seconds(30);

/** `failures` in a row, the first is 1; `random` in [0, 1). Between half of the step and the whole. */
export function backoffMs(
  failures: number,
  random: () => number,
  { firstMs, limitMs }: BackoffSteps = reflectorSteps,
): DurationMs {
  // the exponent is bounded: 2 to the power of a long outage is no number
  const step = Math.min(limitMs, firstMs * 2 ** Math.min(failures - 1, 16));
  return millis(step / 2 + (step / 2) * random());
}
