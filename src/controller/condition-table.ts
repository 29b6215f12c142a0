// Every condition and every reason that an EgressGateway can have, what each means and what to do: one table for the
// judges, docs/conditions.md and the tests. Reasons are part of the API: add to them, never rename one.
export type ConditionStatus = 'True' | 'False' | 'Unknown';

export type ReasonSpec = {
  readonly status: ConditionStatus;
  readonly when: string;
  /** empty: nothing */
  readonly remedy: string;
  /** true only for a reason that is not True and still holds nothing back */
  readonly isHarmless?: true;
};

type ConditionSpec = {
  readonly about: string;
  readonly reasons: { readonly [reason: string]: ReasonSpec };
};

const nothing = '';

export const conditionTable = {
  CAPoolReady: {
    about: 'the Secret with the CA pool, judged as the sidecar judges it',
    reasons: {
      Ready: {
        status: 'True',
        when: 'the active CA can sign; the message warns when its end is near, and names other CAs of the pool that are of no use',
        remedy: nothing,
      },
      NotFound: {
        status: 'False',
        when: 'the Secret does not exist; the bundle is withdrawn `retainFor` after it has gone',
        remedy:
          'create it with `leafgate pool create --secret NAMESPACE/NAME`, or restore it: the controller never makes a CA of its own accord',
      },
      Unavailable: {
        status: 'False',
        when: 'the Secret cannot be read; the message has what the API server said, and the missing rule when it is forbidden',
        remedy: 'name the Secret in the Role of the controller; anything else is tried again',
      },
      Malformed: {
        status: 'False',
        when: 'the Secret has no pool, or an anchor of it cannot be published; the last good bundle stays',
        remedy:
          'write the pool again as docs/pool.md has it; `leafgate pool verify --secret NAMESPACE/NAME` lists what is wrong',
      },
      NoActiveSigner: {
        status: 'False',
        when: '`ActiveForSigning` names a CA that is not in the pool; the last good bundle stays',
        remedy: 'set it to the ID of the CA that shall sign',
      },
      Expired: {
        status: 'False',
        when: 'the active CA has expired; the anchors are published all the same',
        remedy: 'let another CA take over: docs/pool.md, "Another CA takes over", has how',
      },
      SignerNotUsable: {
        status: 'False',
        when: 'the sidecar would refuse the active CA: Ed25519 without `spec.sds.allowEd25519`, a key that does not match, too little life left; the anchors are published all the same',
        remedy: 'activate a CA that can sign, or mend what the message names',
      },
    },
  },
} as const satisfies { readonly [type: string]: ConditionSpec };

export type ConditionType = keyof typeof conditionTable;

export type ReasonOf<Type extends ConditionType> = keyof (typeof conditionTable)[Type]['reasons'] & string;
