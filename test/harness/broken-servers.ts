// Servers that are broken on purpose, each in one way, and the check that must notice it first: the suite is only worth
// something if it is red for them (facts: reliability H1).
import type { Clock } from '../../src/clock.ts';
import { requestType } from './xds-messages.ts';
import { makeGoodServer } from './sds-world.ts';
import type { MakeServer } from './sds-world.ts';
import type { Wire } from './sds-talk.ts';
import type { MintOutcome, Minter } from '../../src/mint/mint-types.ts';

export type BrokenServer = {
  readonly name: string;
  readonly make: MakeServer;
  /** beginnings of the names of checks that must be red */
  readonly noticedBy: readonly string[];
};

export const brokenServers: readonly BrokenServer[] = [
  {
    name: 'never answers',
    make: onWire((wire) => ({ ...wire, take: () => [] })),
    noticedBy: ['a new name gets one secret', 'pitfall 1', 'S9'],
  },
  {
    name: 'answers twice',
    make: onWire((wire) => ({ ...wire, take: () => wire.take().flatMap((message) => [message, message]) })),
    noticedBy: ['a new name gets one secret', 'a name that stands twice'],
  },
  {
    name: 'answers names that were given up',
    make: onWire((wire) => ({ ...wire, send: (message) => wire.send(withoutUnsubscribe(message)) })),
    noticedBy: ['a name that was given up while it was minted', 'a name that was given up is never sent again'],
  },
  {
    name: 'keeps the names of streams that are gone',
    make: onWire((wire) => ({ ...wire, hangUp: () => undefined })),
    noticedBy: ['istio #10822'],
  },
  {
    name: 'serves a leaf after its end',
    make: onMinter((minter) => {
      const first = new Map<string, MintOutcome | Promise<MintOutcome>>();
      return {
        ...minter,
        mint: (asked) => {
          const outcome = first.get(asked) ?? minter.mint(asked);
          first.set(asked, outcome);
          return outcome;
        },
      };
    }),
    noticedBy: ['an ask after the end of a leaf', 'pitfalls 4 and 12'],
  },
  {
    name: 're-mints everything after a reconnect',
    make: onMinter((minter) => ({ ...minter, judgeHeld: () => ({ kind: 'replace' }) })),
    noticedBy: ['S7, pitfalls 7 and 8'],
  },
  {
    name: 'believes every held version',
    make: onMinter((minter, clock) => ({
      ...minter,
      judgeHeld: () => ({ kind: 'keep', notAfter: clock.now() }),
    })),
    noticedBy: ['S7, pitfalls 7 and 8', 'istio #21239', 'S8'],
  },
  {
    name: 'does not hear rejections',
    make: onWire((wire) => ({ ...wire, send: (message) => wire.send(withoutRejection(message)) })),
    noticedBy: ['S4: a rejected first delivery', 'facts S5'],
  },
  {
    name: 'does not review what is held',
    make: (parts) => ({ ...makeGoodServer(parts), review: () => undefined }),
    noticedBy: ['pitfall 9', 'istio #21239', 'S8'],
  },
  {
    name: 'has no cap of names',
    make: (parts) => makeGoodServer({ ...parts, settings: { ...parts.settings, maxLiveNames: 1e9 } }),
    noticedBy: ['pitfall 15'],
  },
  {
    name: 'has no deadline',
    make: (parts) => makeGoodServer({ ...parts, settings: { ...parts.settings, answerDeadlineMs: 1e9 as never } }),
    noticedBy: ['pitfall 1: a mint that does not end'],
  },
];

function onWire(change: (wire: Wire) => Wire): MakeServer {
  return (parts) => {
    const server = makeGoodServer(parts);
    return { ...server, connect: (kind) => change(server.connect(kind)) };
  };
}

function onMinter(change: (minter: Minter, clock: Clock) => Minter): MakeServer {
  return (parts) => {
    const { minter } = parts;
    const methods: Minter = {
      mint: (asked) => minter.mint(asked),
      judgeHeld: (asked, version) => minter.judgeHeld(asked, version),
      forgetLeaf: (asked) => minter.forgetLeaf(asked),
      resourceTtl: (notAfter) => minter.resourceTtl(notAfter),
    };
    return makeGoodServer({ ...parts, minter: change(methods, parts.clock) });
  };
}

function withoutUnsubscribe(message: Buffer): Buffer {
  return rewritten(message, 'resource_names_unsubscribe');
}

function withoutRejection(message: Buffer): Buffer {
  return rewritten(message, 'error_detail');
}

function rewritten(message: Buffer, field: string): Buffer {
  const fields = requestType.toObject(requestType.decode(message));
  return Buffer.from(requestType.encode({ ...fields, [field]: undefined }).finish());
}
