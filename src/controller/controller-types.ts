// The words that the judges, the decisions and the edge of the controller share. What the API said of an object, and what
// was made of it. Pure; it must not know how an object was read.
import type { SecretBytes } from '../secret-bytes.ts';
import type { ConditionStatus, ConditionType } from './condition-table.ts';

/** One condition's verdict; `message` is safe for the API and for a terminal, and never holds a key. */
export type Judgement<Reason extends string = string> = {
  readonly status: ConditionStatus;
  readonly reason: Reason;
  readonly message: string;
};

/** Conditions that apply to a gateway: what its spec does not ask for has none. */
export type Judgements = { readonly [type in ConditionType]?: Judgement };

/** What the API said of an object that a gateway depends on. */
export type Observed<Value> =
  | { readonly kind: 'found'; readonly value: Value }
  | { readonly kind: 'absent' }
  /** neither known to be there nor to be gone; `detail` is the API's sentence, and names the missing rule when forbidden */
  | { readonly kind: 'unavailable'; readonly detail: string };

export type ObjectName = { readonly namespace: string; readonly name: string };

export type SecretContent = ObjectName & {
  readonly type: string;
  readonly data: { readonly [key: string]: SecretBytes };
};

export type ConfigMapContent = ObjectName & {
  readonly data: { readonly [key: string]: string };
  /** base64, as the API has it */
  readonly binaryData?: { readonly [key: string]: string };
};
