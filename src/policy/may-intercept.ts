// Whether a leaf may be made for a name at all, for callers that ask once; who asks often keeps a judge.
import type { ValidName } from '../names/name-types.ts';
import { createPolicyJudge, type MayIntercept } from './policy-judge.ts';
import type { Policy } from './policy-types.ts';

/** Refuses only when no port and no actor could have the name intercepted. */
export function mayIntercept(policy: Policy, name: ValidName): MayIntercept {
  return createPolicyJudge(policy).mayIntercept(name);
}
