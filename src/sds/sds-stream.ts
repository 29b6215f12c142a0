// One stream of one peer: bytes in, bytes out. Takes requests in by parts, runs the protocol machine, does what it says
// through the minter, all of it in turns with other streams, and keeps the live names in step. Must not know gRPC or
// sockets: a sink takes what is sent.
import { millis, type Clock, type DurationMs, type EpochMs } from '../clock.ts';
import type { MintOutcome, Minter } from '../mint/mint-types.ts';
import type { AskedName } from '../names/name-types.ts';
import type { FairTurns } from './fair-turns.ts';
import type { LiveName, LiveNames } from './live-names.ts';
import { encodeEmpty, encodeRemoval, encodeSecret } from './response-codec.ts';
import { scrubRejection } from './scrub-rejection.ts';
import { sdsErrors } from './sds-errors.ts';
import type { SdsEvents, StreamKind } from './sds-events.ts';
import { effortPerPart, effortPerRequest, maxLeavingNames, type SdsSettings } from './sds-settings.ts';
import type {
  JudgeHeld,
  MintAction,
  Rejected,
  SendRemoval,
  SendSecret,
  StreamAction,
  StreamEvent,
} from './stream-events.ts';
import { StreamIntake } from './stream-intake.ts';
import { StreamMachine } from './stream-machine.ts';
import { StreamMints, type MintJob } from './stream-mints.ts';

/** Where a stream's answers go. */
export type StreamSink = {
  send(message: Buffer): void;
  /** no more answers will come and all were sent */
  end(): void;
};

export type StreamServices = {
  readonly minter: Minter;
  /** the minter's, to be passed on */
  readonly judgeHeld: JudgeHeld;
  readonly clock: Clock;
  readonly settings: SdsSettings;
  readonly events: SdsEvents;
  readonly live: LiveNames<SdsStream>;
  /** requests that are taken in; a job is one part of the stream's next one */
  readonly intakes: FairTurns<SdsStream, 'part'>;
  /** mints that somebody waits for */
  readonly asks: FairTurns<SdsStream, MintJob>;
  /** re-mints of names that the peer serves meanwhile */
  readonly refreshes: FairTurns<SdsStream, MintJob>;
  readonly reviewLater: (stream: SdsStream, name: AskedName) => void;
};

/** of a name that is no name, what is enough to find who asks it */
const maxShownName = 64;

export class SdsStream {
  readonly kind: StreamKind;
  readonly #services: StreamServices;
  readonly #sink: StreamSink;
  readonly #machine: StreamMachine;
  readonly #intake: StreamIntake;
  readonly #mints: StreamMints;
  readonly #live = new Map<AskedName, LiveName<SdsStream>>();
  #isPeerDone = false;
  #hasToldUnanswerable = false;
  #isClosed = false;

  constructor(kind: StreamKind, sink: StreamSink, services: StreamServices) {
    const { judgeHeld, minter, clock, settings } = services;
    this.kind = kind;
    this.#sink = sink;
    this.#services = services;
    this.#machine = new StreamMachine({ judgeHeld, impliesSecrets: kind === 'per-name' });
    this.#intake = new StreamIntake((event, askedAt) => {
      this.#handle(event, askedAt);
      return !this.#machine.isTaking;
    });
    this.#mints = new StreamMints({
      minter,
      clock,
      answerDeadlineMs: settings.answerDeadlineMs,
      answer: (job, outcome) => this.#answer(job, outcome),
    });
  }

  get waiting(): number {
    return this.#machine.waiting;
  }

  /**
   * Takes one request: at once where it is small and nobody waits, else in turns with other streams. Undefined when it
   * is taken; else a promise for that moment: read no further before it.
   * Throws or rejects with `sds-request-malformed` or `sds-request-too-large`: the stream must then be ended.
   */
  receive(message: Buffer): Promise<void> | undefined {
    if (this.#isClosed) return undefined;
    const { clock, intakes, settings } = this.#services;
    const max = this.kind === 'ads' ? settings.maxAdsMessageBytes : settings.maxPerNameMessageBytes;
    if (message.length > max) throw sdsErrors.error('sds-request-too-large', { max, unit: 'bytes' });
    const isNext = this.#intake.isEmpty;
    this.#intake.add(message, clock.monotonic());
    if (isNext) intakes.addOrRun(this, 'part');
    return this.#intake.lastTaken();
  }

  /** Takes the next part of a request; returns the effort that it was. */
  takePart(): number {
    if (this.#isClosed) return 0;
    const isLast = this.#intake.takePart();
    if (this.#intake.isEmpty) this.#endIfDone();
    else this.#services.intakes.add(this, 'part');
    return isLast ? effortPerRequest : effortPerPart;
  }

  review(name: AskedName): void {
    if (!this.#isClosed) this.#handle({ kind: 'review', name }, this.#services.clock.monotonic());
  }

  evict(name: AskedName): void {
    if (!this.#isClosed) this.#handle({ kind: 'evict', name }, this.#services.clock.monotonic());
  }

  /** The peer takes no more bytes for now: nothing more is taken from it or made for it. */
  block(): void {
    if (!this.#isClosed) for (const turns of this.#turns()) turns.park(this);
  }

  unblock(): void {
    for (const turns of this.#turns()) turns.unpark(this);
  }

  /** The peer sends nothing more: the stream ends when all that was asked is answered. */
  peerIsDone(): void {
    this.#isPeerDone = true;
    this.#endIfDone();
  }

  /** The stream is gone; what was under way is forgotten. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const turns of this.#turns()) turns.drop(this);
    this.#intake.stop();
    this.#mints.stop();
    for (const live of this.#live.values()) this.#services.live.release(live);
    this.#live.clear();
  }

  /** Runs one mint, unless nobody wants it any more (false). */
  runJob(job: MintJob): boolean {
    if (!this.#isWanted(job)) return false;
    const isBehind = job.urgency === 'ask' && this.#services.live.leavingOf(this) >= maxLeavingNames;
    if (isBehind) this.#answer(job, { kind: 'unavailable', reason: 'peer-behind' });
    else this.#mints.run(job);
    return true;
  }

  /** Answers an ask that waited too long for its turn, unless nobody wants it any more (false). */
  letGo(job: MintJob): boolean {
    if (!this.#isWanted(job)) return false;
    this.#answer(job, { kind: 'unavailable', reason: 'deadline' });
    return true;
  }

  #isWanted({ name, ticket }: MintJob): boolean {
    return !this.#isClosed && this.#machine.wants(name, ticket);
  }

  #turns(): readonly Pick<FairTurns<SdsStream, unknown>, 'park' | 'unpark' | 'drop'>[] {
    const { intakes, asks, refreshes } = this.#services;
    return [intakes, asks, refreshes];
  }

  #handle(event: StreamEvent, askedAt: DurationMs): void {
    for (const action of this.#machine.handle(event)) {
      if (action.kind === 'mint') this.#schedule(action, askedAt);
      else this.#perform(action, askedAt);
    }
  }

  #schedule({ name, ticket, urgency }: MintAction, askedAt: DurationMs): void {
    const { asks, refreshes } = this.#services;
    const job = { name, ticket, urgency, askedAt };
    if (urgency === 'ask') asks.addOrRun(this, job);
    else refreshes.add(this, job);
  }

  #perform(action: Exclude<StreamAction, MintAction>, askedAt: DurationMs): void {
    switch (action.kind) {
      case 'send-secret':
        this.#sendSecret(action, askedAt);
        break;
      case 'send-removal':
        this.#sendRemoval(action, askedAt);
        break;
      case 'send-empty':
        this.#sink.send(encodeEmpty(action.typeUrl, action.nonce));
        break;
      case 'kept':
        this.#hold(action.name, action.notAfter);
        break;
      case 'released':
        this.#release(action.name);
        break;
      case 'review-later':
        this.#services.reviewLater(this, action.name);
        break;
      case 'rejected':
        this.#rejected(action);
        break;
      case 'unanswerable':
        this.#unanswerable(action.name);
        break;
      default:
        action satisfies never;
    }
  }

  #answer(job: MintJob, outcome: MintOutcome): void {
    if (this.#isClosed) return;
    this.#handle({ kind: 'minted', name: job.name, ticket: job.ticket, outcome }, job.askedAt);
    this.#endIfDone();
  }

  #sendSecret({ name, nonce, leaf, fresh }: SendSecret, askedAt: DurationMs): void {
    const { minter, events } = this.#services;
    this.#sink.send(encodeSecret({ name, leaf, ttlMs: minter.resourceTtl(leaf.notAfter), nonce }));
    this.#hold(name, leaf.notAfter);
    const outcome = fresh ? 'minted' : 'cached';
    events.answered({ name, outcome, why: undefined, serialHex: leaf.serialHex, waitMs: this.#since(askedAt) });
  }

  #sendRemoval({ name, nonce, why }: SendRemoval, askedAt: DurationMs): void {
    this.#sink.send(encodeRemoval(name, nonce));
    this.#release(name);
    this.#services.events.answered({ name, outcome: 'removed', why, serialHex: '', waitMs: this.#since(askedAt) });
  }

  #rejected({ name, version, message, wasFirst }: Rejected): void {
    this.#services.minter.forgetLeaf(name);
    this.#services.events.rejected({ name, version, detail: scrubRejection(message), wasFirst });
  }

  /** Told once a stream: clients choose how often it happens. */
  #unanswerable(name: AskedName): void {
    if (this.#hasToldUnanswerable) return;
    this.#hasToldUnanswerable = true;
    this.#services.events.badRequest(sdsErrors.error('sds-name-unanswerable', { name: name.slice(0, maxShownName) }));
  }

  #hold(name: AskedName, notAfter: EpochMs): void {
    const live = { stream: this, name, notAfter };
    this.#release(name);
    this.#live.set(name, live);
    this.#services.live.hold(live);
  }

  #release(name: AskedName): void {
    const live = this.#live.get(name);
    if (live === undefined) return;
    this.#live.delete(name);
    this.#services.live.release(live);
  }

  #since(askedAt: DurationMs): DurationMs {
    return millis(this.#services.clock.monotonic() - askedAt);
  }

  #endIfDone(): void {
    if (!this.#isPeerDone || this.#isClosed) return;
    if (this.#machine.waiting === 0 && this.#intake.isEmpty) this.#sink.end();
  }
}
