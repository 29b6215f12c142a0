// All streams of all peers, and what they share: the minter, the live names and their cap, the turns of mints and
// reviews. Must not know gRPC or sockets.
import { millis, type Clock } from '../clock.ts';
import type { Minter } from '../mint/mint-types.ts';
import { FairTurns } from './fair-turns.ts';
import { LiveNames } from './live-names.ts';
import { ReviewTurns } from './review-turns.ts';
import type { SdsEvents, StreamEnd, StreamKind } from './sds-events.ts';
import {
  effortPerTurn,
  latePerTurn,
  mintsPerTurn,
  refreshesPerTurn,
  refreshPauseMs,
  type SdsSettings,
} from './sds-settings.ts';
import { SdsStream, type StreamServices, type StreamSink } from './sds-stream.ts';
import type { MintJob } from './stream-mints.ts';

export type SdsParts = {
  readonly minter: Minter;
  readonly clock: Clock;
  readonly settings: SdsSettings;
  readonly events: SdsEvents;
};

export type SdsStatus = { readonly streams: number; readonly liveNames: number; readonly waiting: number };

export class SdsCore {
  readonly #services: StreamServices;
  readonly #live: LiveNames<SdsStream>;
  readonly #reviews: ReviewTurns<SdsStream>;
  readonly #streams = new Set<SdsStream>();

  constructor(parts: SdsParts) {
    const { clock, minter, settings } = parts;
    this.#live = new LiveNames(settings.maxLiveNames, (live) => live.stream.evict(live.name));
    this.#reviews = new ReviewTurns(clock, this.#live);
    this.#services = {
      ...parts,
      judgeHeld: (name, version) => minter.judgeHeld(name, version),
      live: this.#live,
      ...turnsOf(clock, settings),
      reviewLater: (stream, name) => this.#reviews.later(stream, name),
    };
  }

  openStream(kind: StreamKind, sink: StreamSink): SdsStream {
    const stream = new SdsStream(kind, sink, this.#services);
    this.#streams.add(stream);
    this.#services.events.streamOpened(kind);
    return stream;
  }

  /** Forgets a stream and everything under way for it; once, however often it is called. */
  closeStream(stream: SdsStream, end: StreamEnd): void {
    if (!this.#streams.delete(stream)) return;
    stream.close();
    this.#services.events.streamClosed(stream.kind, end);
  }

  reviewHeldNames(): void {
    this.#reviews.reviewAll();
  }

  status(): SdsStatus {
    let waiting = 0;
    for (const stream of this.#streams) waiting += stream.waiting;
    return { streams: this.#streams.size, liveNames: this.#live.size, waiting };
  }

  stop(): void {
    this.#reviews.stop();
    this.#services.intakes.stop();
    this.#services.asks.stop();
    this.#services.refreshes.stop();
  }
}

const nextTurn = millis(0);

function turnsOf(
  clock: Clock,
  { answerDeadlineMs }: SdsSettings,
): Pick<StreamServices, 'intakes' | 'asks' | 'refreshes'> {
  const run = (stream: SdsStream, job: MintJob): number => (stream.runJob(job) ? 1 : 0);
  return {
    intakes: new FairTurns<SdsStream, 'part'>(
      clock,
      { perTurn: effortPerTurn, pauseMs: nextTurn },
      { run: (stream) => stream.takePart() },
    ),
    asks: new FairTurns<SdsStream, MintJob>(
      clock,
      { perTurn: mintsPerTurn, pauseMs: nextTurn },
      {
        run,
        deadline: {
          dueAt: ({ askedAt }) => millis(askedAt + answerDeadlineMs),
          letGo: (stream, job) => stream.letGo(job),
          perTurn: latePerTurn,
        },
      },
    ),
    refreshes: new FairTurns<SdsStream, MintJob>(
      clock,
      { perTurn: refreshesPerTurn, pauseMs: refreshPauseMs },
      { run },
    ),
  };
}
