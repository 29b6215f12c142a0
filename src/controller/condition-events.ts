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

/** the API server refuses a longer note */
const maxNoteBytes = 1024;

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
    const note = cutTo(maxNoteBytes, `${type}: ${message}`);
    return [{ type: status === 'True' ? 'Normal' : 'Warning', reason, action: 'Judge', note }];
  });
}

function cutTo(maxBytes: number, text: string): string {
  const ellipsis = '…';
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes - Buffer.byteLength(ellipsis);
  // the octets 10xxxxxx go on a character that has begun before
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end) + ellipsis;
}
