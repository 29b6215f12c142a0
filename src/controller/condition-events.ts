// Which changes of conditions are worth an event: a status or a reason that is another one. A message alone is not. Pure.
import type { StatusCondition } from '../settings/egress-gateway-types.ts';
import { conditionTypes } from './condition-table.ts';
import { findReasonSpec } from './judge.ts';

/** without what it regards, which the edge knows */
export type ConditionEvent = {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly note: string;
};

export function conditionEvents(
  previous: readonly StatusCondition[],
  next: readonly StatusCondition[],
): readonly ConditionEvent[] {
  return next.flatMap(({ type, status, reason, message }) => {
    const before = previous.find((condition) => condition.type === type);
    const ours = conditionTypes.find((known) => known === type);
    const isSame = before?.status === status && before.reason === reason;
    // what is not known yet is no news
    if (ours === undefined || isSame || status === 'Unknown') return [];
    const note = `${type}: ${message}`;
    const isGood = status === 'True' && findReasonSpec(ours, reason)?.isAudited !== true;
    return [{ type: isGood ? 'Normal' : 'Warning', reason, action: 'Judge', note }];
  });
}
