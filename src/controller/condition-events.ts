// Which changes of conditions are worth an event: a status or a reason that is another one. A message alone is not. Pure.
import type { StatusCondition } from '../settings/egress-gateway-types.ts';
import { conditionTypes } from './condition-table.ts';

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
    const isOurs = conditionTypes.some((known) => known === type);
    const isSame = before?.status === status && before.reason === reason;
    // what is not known yet is no news
    if (!isOurs || isSame || status === 'Unknown') return [];
    const note = `${type}: ${message}`;
    return [{ type: status === 'True' ? 'Normal' : 'Warning', reason, action: 'Judge', note }];
  });
}
