// One stream of one peer: bytes in, bytes out. Decodes requests, runs the protocol machine, does what it says through
// the minter, and keeps the live names in step. Must not know gRPC or sockets: a sink takes what is sent.
import { millis, type Clock, type DurationMs, type EpochMs } from '../clock.ts';
import type { MintOutcome, Minter } from '../mint/mint-types.ts';
import type { AskedName } from '../names/name-types.ts';
import type { LiveName, LiveNames } from './live-names.ts';
import type { MintTurns } from './mint-turns.ts';
import { decodeDeltaRequest } from './request-codec.ts';
import { encodeEmpty, encodeRemoval, encodeSecret } from './response-codec.ts';
import { scrubRejection } from './scrub-rejection.ts';
import { sdsErrors } from './sds-errors.ts';
import type { SdsEvents, StreamKind } from './sds-events.ts';
import { maxLeavingNames, mintsPerTurn, type SdsSettings } from './sds-settings.ts';
import type {
  JudgeHeld,
  MintAction,
  Rejected,
  SendRemoval,
  SendSecret,
  StreamAction,
  StreamEvent,
} from './stream-events.ts';
import { StreamMachine } from './stream-machine.ts';

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
  /** mints that somebody waits for, beyond what fits into one turn */
  readonly asks: MintTurns<MintJob>;
  /** re-mints of names that the peer serves meanwhile */
  readonly refreshes: MintTurns<MintJob>;
  readonly reviewLater: (stream: SdsStream, name: AskedName) => void;
};

export type MintJob = {
  readonly stream: SdsStream;
  readonly name: AskedName;
  readonly ticket: number;
  readonly urgency: 'ask' | 'refresh';
  readonly askedAt: DurationMs;
};

/** of a name that is no name, what is enough to find who asks it */
const maxShownName = 64;

export class SdsStream {
  readonly kind: StreamKind;
  readonly #services: StreamServices;
  readonly #sink: StreamSink;
  readonly #machine: StreamMachine;
  readonly #live = new Map<AskedName, LiveName<SdsStream>>();
  /** mints that wait until the peer reads again */
  readonly #parked: MintJob[] = [];
  #isBlocked = false;
  #isPeerDone = false;
  #hasToldUnanswerable = false;
  #isClosed = false;

  constructor(kind: StreamKind, sink: StreamSink, services: StreamServices) {
    this.kind = kind;
    this.#sink = sink;
    this.#services = services;
    this.#machine = new StreamMachine({ judgeHeld: services.judgeHeld, impliesSecrets: kind === 'per-name' });
  }

  get waiting(): number {
    return this.#machine.waiting;
  }

  /** Takes one request. Throws `sds-request-malformed` or `sds-request-too-large`: the stream must then be ended. */
  receive(message: Buffer): void {
    if (this.#isClosed) return;
    const { maxAdsMessageBytes, maxPerNameMessageBytes } = this.#services.settings;
    const max = this.kind === 'ads' ? maxAdsMessageBytes : maxPerNameMessageBytes;
    if (message.length > max) throw sdsErrors.error('sds-request-too-large', { max, unit: 'bytes' });
    const request = decodeDeltaRequest(message);
    this.#handle({ kind: 'request', request }, this.#services.clock.monotonic());
    this.#endIfDone();
  }

  review(name: AskedName): void {
    if (!this.#isClosed) this.#handle({ kind: 'review', name }, this.#services.clock.monotonic());
  }

  evict(name: AskedName): void {
    if (!this.#isClosed) this.#handle({ kind: 'evict', name }, this.#services.clock.monotonic());
  }

  /** The peer takes no more bytes for now: nothing more is made for it. */
  block(): void {
    this.#isBlocked = true;
  }

  unblock(): void {
    this.#isBlocked = false;
    for (const job of this.#parked.splice(0)) this.#schedule(job, false);
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
    this.#parked.length = 0;
    for (const live of this.#live.values()) this.#services.live.release(live);
    this.#live.clear();
  }

  /** Runs one mint, unless nobody wants it any more (false) or the peer does not read (parked). */
  runJob(job: MintJob): boolean {
    if (this.#isClosed || !this.#machine.wants(job.name, job.ticket)) return false;
    if (this.#isBlocked) {
      this.#parked.push(job);
      return false;
    }
    this.#mint(job);
    return true;
  }

  #handle(event: StreamEvent, askedAt: DurationMs): void {
    let places = mintsPerTurn;
    for (const action of this.#machine.handle(event)) {
      if (action.kind === 'mint') {
        this.#schedule({ stream: this, askedAt, ...action }, places > 0);
        places -= 1;
      } else this.#perform(action, askedAt);
    }
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

  /** At once while there is room in this turn and nobody waited before; else in turns. */
  #schedule(job: MintJob, hasPlace: boolean): void {
    const { asks, refreshes } = this.#services;
    if (job.urgency === 'refresh') refreshes.add(job);
    else if (hasPlace && asks.length === 0) this.runJob(job);
    else asks.add(job);
  }

  #mint(job: MintJob): void {
    const { minter, clock, settings } = this.#services;
    const hindrance = job.urgency === 'ask' ? this.#hindrance(job) : undefined;
    const outcome = hindrance ?? minter.mint(job.name);
    if (!(outcome instanceof Promise)) {
      this.#answer(job, outcome);
      return;
    }
    const deadline = clock.after(settings.answerDeadlineMs, () =>
      this.#answer(job, { kind: 'unavailable', reason: 'deadline' }),
    );
    void outcome.then((settled) => {
      deadline.cancel();
      this.#answer(job, settled);
    });
  }

  /** Why an ask is answered without a mint: it waited too long for its turn, or this peer does not answer us. */
  #hindrance({ askedAt }: MintJob): MintOutcome | undefined {
    const { live, clock, settings } = this.#services;
    if (live.leaving >= maxLeavingNames) return { kind: 'unavailable', reason: 'too-many-names' };
    if (clock.monotonic() - askedAt > settings.answerDeadlineMs) return { kind: 'unavailable', reason: 'deadline' };
    return undefined;
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
    if (this.#isPeerDone && !this.#isClosed && this.#machine.waiting === 0) this.#sink.end();
  }
}
