// What one client may ask of the proxy at once, where only its rate in the long run was said. Pure.
import type { ClientRate } from './gateway-spec.ts';

const burstSeconds = 5;
const leastBurst = 20;

/** A page of a browser, or a test suite that starts, asks for much at once and then for little. */
export function clientRateOf(perSecond: number): ClientRate {
  return { perSecond, burst: Math.max(leastBurst, perSecond * burstSeconds) };
}
