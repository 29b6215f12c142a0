// All streams of all peers, and what they share: the minter, the live names and their cap, the turns of mints and
// reviews. Must not know gRPC or sockets.
import { millis, type Clock } from '../clock.ts';
import type { Minter } from '../mint/mint-types.ts';
import { LiveNames } from './live-names.ts';
import { MintTurns } from './mint-turns.ts';
import { ReviewTurns } from './review-turns.ts';
import type { SdsEvents, StreamEnd, StreamKind } from './sds-events.ts';
import { mintsPerTurn, refreshesPerTurn, refreshPauseMs, type SdsSettings } from './sds-settings.ts';
import { SdsStream, type MintJob, type StreamServices, type StreamSink } from './sds-stream.ts';

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
    const { clock, minter } = parts;
    const run = (job: MintJob): boolean => job.stream.runJob(job);
    this.#live = new LiveNames(parts.settings.maxLiveNames, (live) => live.stream.evict(live.name));
    this.#reviews = new ReviewTurns(clock, this.#live);
    this.#services = {
      ...parts,
      judgeHeld: (name, version) => minter.judgeHeld(name, version),
      live: this.#live,
      asks: new MintTurns(clock, { perTurn: mintsPerTurn, pauseMs: millis(0) }, run),
      refreshes: new MintTurns(clock, { perTurn: refreshesPerTurn, pauseMs: refreshPauseMs }, run),
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
    this.#services.asks.stop();
    this.#services.refreshes.stop();
  }
}
