// One decision from a policy, for callers that ask once; who asks often keeps a judge.
import { createPolicyJudge } from './policy-judge.ts';
import type { Decision, Policy, PolicyQuestion } from './policy-types.ts';

/**
 * The most specific name decides, whatever the order of the rules; among its rules the first whose ports and actors fit;
 * when none fits, the default.
 */
export function decide(policy: Policy, question: PolicyQuestion): Decision {
  return createPolicyJudge(policy).decide(question);
}
