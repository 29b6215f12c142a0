// A peer, a minter and a world around one protocol machine, driven by random steps, which watches every action and
// fails at the first that breaks an invariant of facts/reliability.md S10. It keeps its own, simpler books.
import assert from 'node:assert/strict';
import { epoch } from '../../src/clock.ts';
import type { HeldVerdict, Leaf, MintOutcome, SdsVersion } from '../../src/mint/mint-types.ts';
import type { AskedName } from '../../src/names/name-types.ts';
import { SecretBytes } from '../../src/secret-bytes.ts';
import { secretTypeUrl } from '../../src/sds/delta-request.ts';
import type { DeltaRequest } from '../../src/sds/delta-request.ts';
import type { StreamAction, StreamEvent } from '../../src/sds/stream-events.ts';
import { StreamMachine } from '../../src/sds/stream-machine.ts';

export type Step =
  | {
      readonly kind: 'request';
      readonly subscribe: readonly number[];
      readonly unsubscribe: readonly number[];
      readonly answer: 'none' | 'ack' | 'nack' | 'stale';
      readonly which: number;
    }
  /** the next part of a request, where it is taken in by parts */
  | { readonly kind: 'more' }
  | { readonly kind: 'minted'; readonly which: number; readonly outcome: 'granted' | 'refused' | 'unavailable' }
  | { readonly kind: 'review'; readonly name: number; readonly verdict: HeldVerdict['kind'] }
  | { readonly kind: 'evict'; readonly name: number };

/** what the peer heard last about a name, and whether it has spoken of the name since */
type LastWord = { readonly said: 'secret' | 'removal'; heardSince: boolean };

/** one name of a request, in the order in which they are taken */
type Entry = { readonly name: AskedName; readonly is: 'given-up' | 'asked' | 'asked-twice' };

type RequestEvent = Extract<StreamEvent, { kind: 'request' }>;

type Pending = { readonly name: AskedName; readonly ticket: number };

export const modelNames = ['a', 'b', 'c', 'd', 'e'].map((label) => `${label}.test` as AskedName);

export class MachineModel {
  readonly #machine: StreamMachine;
  readonly #maxNames: number;
  readonly #isByParts: boolean;
  readonly #subscribed = new Set<AskedName>();
  /** names whose last ask has no answer yet */
  readonly #unanswered = new Set<AskedName>();
  readonly #outstanding = new Map<AskedName, string>();
  readonly #lastWords = new Map<AskedName, LastWord>();
  #pending: Pending[] = [];
  /** of the request under way, what the machine has not taken yet */
  #entries: Entry[] = [];
  /** what the first request declares to hold: it needs no answer */
  #held: ReadonlySet<AskedName> = new Set();
  #verdict: HeldVerdict['kind'] = 'keep';
  #leaves = 0;

  /** `isByParts`: a request is taken in one name at a time, with other events in between. */
  constructor(maxNames: number, isByParts: boolean) {
    this.#maxNames = maxNames;
    const judgeHeld = (): HeldVerdict => {
      if (this.#verdict === 'keep') return { kind: 'keep', notAfter: epoch(0) };
      return this.#verdict === 'refuse' ? { kind: 'refuse', reason: 'policy' } : { kind: 'replace' };
    };
    const rules = { judgeHeld, impliesSecrets: false, maxNames };
    this.#machine = new StreamMachine({ ...rules, effortPerPart: isByParts ? 1 : Infinity });
    this.#isByParts = isByParts;
  }

  /** The first request after a reconnect. Held names need no answer, the others do. */
  resume(held: readonly number[], asked: readonly number[], verdict: HeldVerdict['kind']): void {
    this.#verdict = verdict;
    const heldNames = namesOf(held);
    const subscribe = [...heldNames, ...namesOf(asked)];
    this.#held = new Set(heldNames);
    this.#take(request({ subscribe, heldVersions: new Map(heldNames.map((name) => [name, 'v'])) }));
  }

  step(step: Step): void {
    switch (step.kind) {
      case 'request':
        this.#request(step);
        break;
      case 'more':
        this.#more();
        break;
      case 'minted':
        this.#settle(step.which, step.outcome);
        break;
      case 'review':
        this.#verdict = step.verdict;
        this.#feed({ kind: 'review', name: nameAt(step.name) });
        break;
      case 'evict':
        this.#feed({ kind: 'evict', name: nameAt(step.name) });
        break;
      default:
        step satisfies never;
    }
    assert.equal(this.#machine.waiting, this.#unanswered.size, 'waiting names');
    assert.equal(this.#machine.size, this.#subscribed.size, 'subscribed names');
    assert(this.#machine.size <= this.#maxNames, 'more names than a stream may hold');
    assert.equal(this.#machine.outstanding, this.#outstanding.size, 'outstanding responses');
  }

  /** All mints end, the peer acknowledges and leaves: everything is answered and nothing is left. */
  finish(): void {
    this.#takeTheRest();
    while (this.#pending.length > 0) this.#settle(0, 'granted');
    assert.deepEqual([...this.#unanswered], [], 'asked names without an answer');
    for (let rounds = 0; this.#outstanding.size > 0; rounds += 1) {
      assert(rounds < 100, 'responses without end');
      this.#request({ kind: 'request', subscribe: [], unsubscribe: [], answer: 'ack', which: 0 });
      while (this.#pending.length > 0) this.#settle(0, 'granted');
    }
    this.#request({ kind: 'request', subscribe: [], unsubscribe: [0, 1, 2, 3, 4], answer: 'none', which: 0 });
    this.#takeTheRest();
    assert.deepEqual([this.#machine.size, this.#machine.outstanding, this.#machine.waiting], [0, 0, 0]);
  }

  #request({ subscribe, unsubscribe, answer, which }: Extract<Step, { kind: 'request' }>): void {
    // the stream hands in one request after the other
    this.#takeTheRest();
    this.#held = new Set();
    const answered = [...this.#outstanding][which % Math.max(1, this.#outstanding.size)];
    const isAnswer = answered !== undefined && (answer === 'ack' || answer === 'nack');
    if (isAnswer) {
      this.#outstanding.delete(answered[0]);
      this.#hear(answered[0]);
    }
    this.#take(
      request({
        subscribe: namesOf(subscribe),
        unsubscribe: namesOf(unsubscribe),
        nonce: isAnswer ? answered[1] : answer === 'none' ? '' : 'stale',
        rejection: answer === 'nack' ? 'no' : undefined,
      }),
    );
    // all at once, or nothing in it
    if (!this.#machine.isTaking) assert.deepEqual(this.#entries, [], 'names that were not taken');
  }

  /** Hands a request in; the books of a name change when the machine takes it. */
  #take(event: RequestEvent): void {
    const { subscribe, unsubscribe } = event.request;
    this.#entries = [
      ...unsubscribe.map((name): Entry => ({ name, is: 'given-up' })),
      ...subscribe.map((name, at): Entry => ({ name, is: subscribe.indexOf(name) < at ? 'asked-twice' : 'asked' })),
    ];
    this.#noteEntries();
    this.#feed(event);
  }

  #more(): void {
    if (this.#machine.isTaking) this.#noteEntries();
    this.#feed({ kind: 'more' });
  }

  #takeTheRest(): void {
    while (this.#machine.isTaking) this.#more();
  }

  #noteEntries(): void {
    for (const entry of this.#entries.splice(0, this.#isByParts ? 1 : Infinity)) this.#note(entry);
  }

  #note({ name, is }: Entry): void {
    if (is === 'asked-twice') return;
    this.#hear(name);
    if (is === 'given-up') {
      this.#forget(name);
      return;
    }
    // a name whose mint is under way keeps its outstanding-free state; else the new answer replaces the old one
    this.#outstanding.delete(name);
    this.#subscribed.add(name);
    if (!this.#held.has(name)) this.#unanswered.add(name);
  }

  #settle(which: number, outcome: 'granted' | 'refused' | 'unavailable'): void {
    const [pending] = this.#pending.splice(which % Math.max(1, this.#pending.length), 1);
    if (pending === undefined) return;
    this.#feed({ kind: 'minted', ...pending, outcome: this.#outcome(outcome) });
  }

  #outcome(kind: 'granted' | 'refused' | 'unavailable'): MintOutcome {
    if (kind === 'refused') return { kind, reason: 'policy' };
    if (kind === 'unavailable') return { kind, reason: 'deadline' };
    this.#leaves += 1;
    const leaf: Leaf = {
      version: `v${this.#leaves}` as SdsVersion,
      serialHex: '',
      notBefore: epoch(0),
      notAfter: epoch(0),
      chainPem: new Uint8Array(),
      privateKeyPem: new SecretBytes(new Uint8Array()),
    };
    return { kind, leaf, fresh: true };
  }

  #feed(event: StreamEvent): void {
    for (const action of this.#machine.handle(event)) this.#watch(action);
  }

  #watch(action: StreamAction): void {
    switch (action.kind) {
      case 'mint':
        this.#pending.push({ name: action.name, ticket: action.ticket });
        break;
      case 'send-secret':
        assert(!this.#outstanding.has(action.name), `two responses outstanding for ${action.name}`);
        this.#say(action.name, 'secret');
        this.#outstanding.set(action.name, action.nonce);
        break;
      case 'send-removal':
        assert(!this.#outstanding.has(action.name), `a removal of ${action.name} on top of an unanswered secret`);
        this.#say(action.name, 'removal');
        this.#forget(action.name);
        break;
      case 'send-empty':
      case 'kept':
      case 'released':
      case 'review-later':
      case 'rejected':
      case 'unanswerable':
        break;
      default:
        action satisfies never;
    }
  }

  #say(name: AskedName, said: LastWord['said']): void {
    assert(this.#subscribed.has(name), `an answer for ${name}, which is not subscribed`);
    const last = this.#lastWords.get(name);
    const isContradiction = last !== undefined && last.said !== said && !last.heardSince;
    assert(!isContradiction, `${name}: ${said} in one breath with ${last?.said ?? ''}`);
    this.#lastWords.set(name, { said, heardSince: false });
    this.#unanswered.delete(name);
  }

  #hear(name: AskedName): void {
    const last = this.#lastWords.get(name);
    if (last !== undefined) last.heardSince = true;
  }

  #forget(name: AskedName): void {
    this.#subscribed.delete(name);
    this.#unanswered.delete(name);
    this.#outstanding.delete(name);
  }
}

function nameAt(index: number): AskedName {
  return modelNames[index % modelNames.length] ?? ('' as AskedName);
}

function namesOf(indices: readonly number[]): readonly AskedName[] {
  return indices.map(nameAt);
}

function request(fields: Partial<DeltaRequest>): RequestEvent {
  return {
    kind: 'request',
    request: {
      typeUrl: secretTypeUrl,
      subscribe: [],
      unsubscribe: [],
      heldVersions: new Map(),
      nonce: '',
      rejection: undefined,
      ...fields,
    },
  };
}
