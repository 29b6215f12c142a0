// From judgements to the list of conditions as it is written: in the order of the table, and `lastTransitionTime` moves only
// when a status does (a time that moved with each look would write, and wake the controller, without end). Pure.
import type { EpochMs } from '../clock.ts';
import type { StatusCondition } from '../settings/egress-gateway-types.ts';
import { readTime, timeText } from './bundle-record.ts';
import { conditionTypes } from './condition-table.ts';
import type { Judgements } from './controller-types.ts';

export type ConditionTerms = { readonly generation: number; readonly now: EpochMs };

/** What is not judged any more is left out, so that server-side apply takes it away. */
export function mergeConditions(
  previous: readonly StatusCondition[],
  judgements: Judgements,
  { generation, now }: ConditionTerms,
): readonly StatusCondition[] {
  return conditionTypes.flatMap((type) => {
    const judgement = judgements[type];
    if (judgement === undefined) return [];
    const { status, reason, message } = judgement;
    const before = previous.find((condition) => condition.type === type);
    const isKept = before?.status === status && readTime(before.lastTransitionTime) !== undefined;
    const lastTransitionTime = isKept ? before.lastTransitionTime : timeText(now);
    return [{ type, status, reason, message, lastTransitionTime, observedGeneration: generation }];
  });
}
