// What a policy is read from: maps, lists and plain values, each with its place. A file and a part of an API object both
// become these, so that there is one reader of policies. Must not know what a policy is.

export type PolicyMap = { readonly kind: 'map'; readonly entries: readonly PolicyEntry[]; readonly at: number };
type PolicyList = { readonly kind: 'list'; readonly items: readonly PolicyNode[]; readonly at: number };
/** `shown` is the value as it is written */
export type PolicyValue = {
  readonly kind: 'value';
  readonly value: string | number | boolean | null;
  readonly shown: string;
  readonly at: number;
};
/** what was there is a problem already */
type PolicyUnread = { readonly kind: 'unread'; readonly at: number };
export type PolicyNode = PolicyMap | PolicyList | PolicyValue | PolicyUnread;
export type PolicyEntry = { readonly key: string; readonly keyAt: number; readonly value: PolicyNode };

/** what the numbers `at` of nodes stand for */
export type PolicyPlaces = {
  /** what the whole is called in messages */
  readonly source: string;
  /** `policy.yaml:4:12`, both counted from one, or `spec.policy.rules[3].name` */
  readonly placeOf: (at: number) => string;
  /** counted from one */
  readonly lineOf: (at: number) => number;
};
