// The policy that a gateway goes by now, as `/status` and `leafgate status` tell it.
import { z } from 'zod';
import type { EpochMs } from '../clock.ts';
import type { Policy } from '../policy/policy-types.ts';

export const policyInForceSchema = z.object({
  /** the file, or what stands for one */
  source: z.string(),
  default: z.string(),
  rules: z.int().nonnegative(),
  /** when it came into force, RFC 3339 */
  since: z.string(),
});

export type PolicyInForce = z.infer<typeof policyInForceSchema>;

export function policyInForce(policy: Policy, source: string, since: EpochMs): PolicyInForce {
  const names = new Set(policy.rules.map(({ name }) => name));
  return { source, default: policy.defaultVerdict, rules: names.size, since: new Date(since).toISOString() };
}
