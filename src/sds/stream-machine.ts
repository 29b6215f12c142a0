// The protocol of one delta stream, pure: an event in, actions out, in the order in which they must be done. It holds
// the rules of delta xDS as Envoy lives them (facts: envoy.md section 2): every sayable name is answered, one name a
// response, at most one response outstanding a name, silence on ACK, and never an addition and a removal of one name
// without having heard from the peer in between. Must not know gRPC, time, keys or other streams.
import type { MintOutcome, SdsVersion } from '../mint/mint-types.ts';
import type { AskedName } from '../names/name-types.ts';
import { secretTypeUrl, type DeltaRequest } from './delta-request.ts';
import { RequestTaking } from './request-taking.ts';
import { isSayable } from './sayable-name.ts';
import { effortPerPart, maxNamesPerStream } from './sds-settings.ts';
import type { JudgeHeld, RemovalReason, StreamAction, StreamEvent } from './stream-events.ts';

/** What is known of one subscribed name. One shape, few words: there are thousands of them. */
type NameState = {
  readonly name: AskedName;
  /** the mint that is under way, 0: none */
  ticket: number;
  /** whether that mint answers an ask, so that its failure is a removal */
  isAsked: boolean;
  /** the response that the peer has not answered yet, '': none */
  nonce: string;
  /** what that response carries */
  sentVersion: SdsVersion | undefined;
  /** what the peer is known to hold */
  heldVersion: string | undefined;
  /** what to do when the outstanding response is answered */
  afterwards: 'nothing' | 'review' | 'evict';
};

export type MachineRules = {
  readonly judgeHeld: JudgeHeld;
  /** a request without a type URL is about secrets (per-name streams) */
  readonly impliesSecrets: boolean;
  readonly maxNames?: number;
  readonly effortPerPart?: number;
};

const nothingToDo: readonly StreamAction[] = [];

export class StreamMachine {
  readonly #rules: MachineRules;
  readonly #maxNames: number;
  readonly #effortPerPart: number;
  readonly #names = new Map<AskedName, NameState>();
  readonly #outstanding = new Map<string, NameState>();
  #actions: StreamAction[] = [];
  #isFirst = true;
  #lastNonce = 0;
  #lastTicket = 0;
  #waiting = 0;
  /** the request that is not yet taken in full */
  #taking: RequestTaking | undefined;
  /** the outstanding response that it answers */
  #answered: NameState | undefined;

  constructor(rules: MachineRules) {
    this.#rules = rules;
    this.#maxNames = rules.maxNames ?? maxNamesPerStream;
    this.#effortPerPart = rules.effortPerPart ?? effortPerPart;
  }

  /** Whether the last request was taken in part: hand in `more` until it is not. */
  get isTaking(): boolean {
    return this.#taking !== undefined;
  }

  /** names that were asked and not yet answered */
  get waiting(): number {
    return this.#waiting;
  }

  /** names that the peer is subscribed to */
  get size(): number {
    return this.#names.size;
  }

  get outstanding(): number {
    return this.#outstanding.size;
  }

  /** Whether the answer to this mint would still be used. */
  wants(name: AskedName, ticket: number): boolean {
    return this.#names.get(name)?.ticket === ticket;
  }

  handle(event: StreamEvent): readonly StreamAction[] {
    switch (event.kind) {
      case 'request':
        this.#request(event.request);
        break;
      case 'more':
        this.#takePart(this.#effortPerPart);
        break;
      case 'minted':
        this.#minted(event.name, event.ticket, event.outcome);
        break;
      case 'review':
        this.#later(event.name, 'review');
        break;
      case 'evict':
        this.#later(event.name, 'evict');
        break;
      default:
        event satisfies never;
    }
    if (this.#actions.length === 0) return nothingToDo;
    const actions = this.#actions;
    this.#actions = [];
    return actions;
  }

  #request(request: DeltaRequest): void {
    const { typeUrl, subscribe, unsubscribe, nonce } = request;
    // requests are taken in the order in which they came
    while (this.#taking !== undefined) this.#takePart(Infinity);
    if (typeUrl !== secretTypeUrl && !(typeUrl === '' && this.#rules.impliesSecrets)) {
      // an answer to our empty answer must not be answered again, or the two of us spin
      if (nonce === '') this.#actions.push({ kind: 'send-empty', typeUrl, nonce: this.#nextNonce() });
      return;
    }
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    this.#answered = nonce === '' ? undefined : this.#hear(nonce, request.rejection);
    if (isFirst && nonce === '' && unsubscribe.length === 0 && subscribe.length === 0) {
      this.#actions.push({ kind: 'send-empty', typeUrl: secretTypeUrl, nonce: this.#nextNonce() });
    }
    this.#taking = new RequestTaking(request, isFirst);
    this.#takePart(this.#effortPerPart);
  }

  #takePart(effort: number): void {
    this.#taking?.takePart(effort, {
      unsubscribe: (name) => this.#unsubscribe(name),
      subscribe: (name, held) => this.#subscribe(name, held),
    });
    if (this.#taking?.isDone !== true) return;
    const answered = this.#answered;
    this.#taking = undefined;
    this.#answered = undefined;
    if (answered !== undefined) this.#settle(answered);
  }

  /** The outstanding response of this nonce is answered; a stale or unknown nonce says nothing. */
  #hear(nonce: string, rejection: string | undefined): NameState | undefined {
    const state = this.#outstanding.get(nonce);
    if (state?.sentVersion === undefined) return undefined;
    const version = state.sentVersion;
    this.#forgetResponse(state);
    if (rejection === undefined) {
      state.heldVersion = version;
    } else {
      const wasFirst = state.heldVersion === undefined;
      this.#actions.push({ kind: 'rejected', name: state.name, version, message: rejection, wasFirst });
    }
    return state;
  }

  /** What waited for the answer; not when the same request gave the name up or asked it again. */
  #settle(state: NameState): void {
    if (this.#names.get(state.name) !== state || state.ticket !== 0 || state.nonce !== '') return;
    const { afterwards } = state;
    state.afterwards = 'nothing';
    if (state.heldVersion === undefined) this.#remove(state, 'rejected');
    else if (afterwards === 'evict') this.#remove(state, 'evicted');
    else if (afterwards === 'review') this.#review(state, state.heldVersion);
  }

  /** Whether a removal was sent at once. */
  #subscribe(name: AskedName, held: string | undefined): boolean {
    const known = this.#names.get(name);
    if (known !== undefined) this.#askAgain(known);
    else if (!isSayable(name)) this.#actions.push({ kind: 'unanswerable', name });
    else if (this.#names.size >= this.#maxNames) this.#sendRemoval(name, 'too-many-names');
    else if (held === undefined) this.#mint(this.#remember(name, undefined), true);
    else this.#review(this.#remember(name, held), held, true);
    return this.#actions.at(-1)?.kind === 'send-removal';
  }

  /** An explicit subscribe is always answered, whatever was sent before: Envoy may have lost it (facts #47309). */
  #askAgain(state: NameState): void {
    state.afterwards = 'nothing';
    if (state.ticket === 0) {
      this.#forgetResponse(state);
      this.#mint(state, true);
    } else if (!state.isAsked) {
      this.#mint(state, true);
    }
  }

  #unsubscribe(name: AskedName): void {
    const state = this.#names.get(name);
    if (state === undefined) return;
    this.#forget(state);
    this.#actions.push({ kind: 'released', name });
  }

  #minted(name: AskedName, ticket: number, outcome: MintOutcome): void {
    const state = this.#names.get(name);
    if (state?.ticket !== ticket) return;
    const wasAsked = state.isAsked;
    this.#clearTicket(state);
    if (outcome.kind === 'granted') {
      state.nonce = this.#nextNonce();
      state.sentVersion = outcome.leaf.version;
      this.#outstanding.set(state.nonce, state);
      const { leaf, fresh } = outcome;
      this.#actions.push({ kind: 'send-secret', name, nonce: state.nonce, leaf, fresh });
    } else if (outcome.kind === 'refused' || wasAsked) {
      this.#remove(state, outcome.reason);
    } else {
      this.#actions.push({ kind: 'review-later', name });
    }
  }

  /** Does at once what needs no answer of the peer first, else notes it. */
  #later(name: AskedName, what: 'review' | 'evict'): void {
    const state = this.#names.get(name);
    // a mint under way is judged by today's pool and policy, and makes the name young again
    if (state === undefined || state.ticket !== 0) return;
    if (state.nonce !== '') {
      if (state.afterwards !== 'evict') state.afterwards = what;
    } else if (what === 'evict') this.#remove(state, 'evicted');
    else if (state.heldVersion !== undefined) this.#review(state, state.heldVersion);
  }

  /** `isResumed`: the peer came back with this version; nothing is re-minted that is still good. */
  #review(state: NameState, version: string, isResumed = false): void {
    const { name } = state;
    const verdict = this.#rules.judgeHeld(name, version);
    if (verdict.kind === 'refuse') this.#remove(state, verdict.reason);
    else if (verdict.kind === 'replace') this.#mint(state, false);
    else if (isResumed) this.#actions.push({ kind: 'kept', name, notAfter: verdict.notAfter });
  }

  #mint(state: NameState, isAsked: boolean): void {
    this.#lastTicket += 1;
    state.ticket = this.#lastTicket;
    if (isAsked && !state.isAsked) this.#waiting += 1;
    state.isAsked = isAsked;
    this.#actions.push({
      kind: 'mint',
      name: state.name,
      ticket: state.ticket,
      urgency: isAsked ? 'ask' : 'refresh',
    });
  }

  #remember(name: AskedName, heldVersion: string | undefined): NameState {
    const state: NameState = {
      name,
      ticket: 0,
      isAsked: false,
      nonce: '',
      sentVersion: undefined,
      heldVersion,
      afterwards: 'nothing',
    };
    this.#names.set(name, state);
    return state;
  }

  #remove(state: NameState, why: RemovalReason): void {
    this.#forget(state);
    this.#sendRemoval(state.name, why);
  }

  #sendRemoval(name: AskedName, why: RemovalReason): void {
    this.#actions.push({ kind: 'send-removal', name, nonce: this.#nextNonce(), why });
  }

  #forget(state: NameState): void {
    this.#clearTicket(state);
    this.#forgetResponse(state);
    this.#names.delete(state.name);
  }

  #clearTicket(state: NameState): void {
    if (state.isAsked) this.#waiting -= 1;
    state.ticket = 0;
    state.isAsked = false;
  }

  #forgetResponse(state: NameState): void {
    if (state.nonce === '') return;
    this.#outstanding.delete(state.nonce);
    state.nonce = '';
    state.sentVersion = undefined;
  }

  #nextNonce(): string {
    this.#lastNonce += 1;
    return this.#lastNonce.toString(36);
  }
}
