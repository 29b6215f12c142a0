// Orders of events around a request that is taken in by parts which random orders hardly ever meet.
import { expect, it } from 'vitest';
import { epoch } from '../../../src/clock.ts';
import type { HeldVerdict, MintOutcome, SdsVersion } from '../../../src/mint/mint-types.ts';
import type { AskedName } from '../../../src/names/name-types.ts';
import { SecretBytes } from '../../../src/secret-bytes.ts';
import { secretTypeUrl } from '../../../src/sds/delta-request.ts';
import type { DeltaRequest } from '../../../src/sds/delta-request.ts';
import type { StreamAction, StreamEvent } from '../../../src/sds/stream-events.ts';
import { StreamMachine } from '../../../src/sds/stream-machine.ts';

const [a, b, c] = ['a.test', 'b.test', 'c.test'] as [AskedName, AskedName, AskedName];

function request(fields: Partial<DeltaRequest>): StreamEvent {
  const nothing = { subscribe: [], unsubscribe: [], heldVersions: new Map(), nonce: '', rejection: undefined };
  return { kind: 'request', request: { typeUrl: secretTypeUrl, ...nothing, ...fields } };
}

function granted(version: string): MintOutcome {
  const leaf = {
    version: version as SdsVersion,
    serialHex: '',
    notBefore: epoch(0),
    notAfter: epoch(0),
    chainPem: new Uint8Array(),
    privateKeyPem: new SecretBytes(new Uint8Array()),
  };
  return { kind: 'granted', leaf, fresh: true };
}

function start(verdict: HeldVerdict) {
  const machine = new StreamMachine({ judgeHeld: () => verdict, impliesSecrets: false, effortPerPart: 1 });
  const mint = (actions: readonly StreamAction[], version: string): string => {
    const [action] = actions;
    if (action?.kind !== 'mint') throw new Error(`expected a mint, got ${action?.kind ?? 'nothing'}`);
    const { name, ticket } = action;
    const [sent] = machine.handle({ kind: 'minted', name, ticket, outcome: granted(version) });
    return sent?.kind === 'send-secret' ? sent.nonce : '';
  };
  return { machine, mint };
}

it('what waited for an answer is not done on top of what was sent since', () => {
  const { machine, mint } = start({ kind: 'replace' });
  const first = mint(machine.handle(request({ subscribe: [a] })), 'v1');
  expect(machine.handle({ kind: 'evict', name: a })).toEqual([]);
  machine.handle(request({ nonce: first, subscribe: [b, c] }));
  // the eviction waits for the end of this request; meanwhile the name is re-minted
  const second = mint(machine.handle({ kind: 'review', name: a }), 'v2');
  expect(machine.handle({ kind: 'more' }).map(({ kind }) => kind)).toEqual(['mint']);
  expect(machine.isTaking).toBe(false);
  expect(machine.handle(request({ nonce: second })).map(({ kind }) => kind)).toEqual(['send-removal']);
});

it('a request that follows one that is not yet taken in full is taken after it', () => {
  const { machine } = start({ kind: 'replace' });
  machine.handle(request({ subscribe: [a, b, c] }));
  const actions = machine.handle(request({ unsubscribe: [c] }));
  expect(actions.map((action) => ('name' in action ? [action.kind, action.name] : action.kind))).toEqual([
    ['mint', b],
    ['mint', c],
    ['released', c],
  ]);
});
