// Makes a judgement: its status comes from the table of conditions, its message fits the API and holds nothing that could
// disturb a terminal. It must not know what is judged.
import { printable, type LeafgateError } from '../errors.ts';
import { conditionTable, type ConditionType, type ReasonOf, type ReasonSpec } from './condition-table.ts';
import type { Judgement, ObjectName } from './controller-types.ts';

/** metav1.Condition takes 32,768 characters; people read far fewer, and a status is copied with every write */
const maxMessageChars = 4096;

export function judge<Type extends ConditionType>(
  type: Type,
  reason: ReasonOf<Type>,
  message: string,
): Judgement<ReasonOf<Type>> {
  return {
    // the types hold that the table has it
    status: findReasonSpec(type, reason)?.status ?? 'Unknown',
    reason,
    message: printable(message, maxMessageChars).toWellFormed(),
  };
}

/** undefined for a reason that the table does not have */
export function findReasonSpec(type: ConditionType, reason: string): ReasonSpec | undefined {
  const reasons: { readonly [reason: string]: ReasonSpec } = conditionTable[type].reasons;
  return Object.hasOwn(reasons, reason) ? reasons[reason] : undefined;
}

/** all problems in one sentence, each once */
export function sayProblems(problems: readonly LeafgateError[]): string {
  return [...new Set(problems.map(({ message }) => message))].join('; ');
}

/** From the gravest down, as `order` has the reasons; what cannot be read says nothing about the rest. */
export function gravestFirst<Fault extends { readonly reason: string }>(
  faults: readonly Fault[],
  order: readonly Fault['reason'][],
): readonly Fault[] {
  return faults.toSorted((one, other) => order.indexOf(one.reason) - order.indexOf(other.reason));
}

/** `a, b, and 3 more` */
export function sayFirst(texts: readonly string[], most: number): string {
  const more = texts.length - most;
  return [...texts.slice(0, most), ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
}

export function secretText({ namespace, name }: ObjectName): string {
  return `Secret ${namespace}/${name}`;
}
