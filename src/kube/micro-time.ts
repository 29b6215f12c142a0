// Kubernetes' MicroTime: exactly six digits after the point. The three of toISOString() are refused with 400, and a Lease
// is then never made while the pod looks well (agentconnect-md/agentconnect#873). Pure.
import type { EpochMs } from '../clock.ts';

export function microTime(at: EpochMs): string {
  return new Date(at).toISOString().replace(/Z$/, '000Z');
}
