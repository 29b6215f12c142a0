// The requests of one stream on their way in, one after the other and a part at a time: bytes, then a decoded request,
// then its names. Must not know whose turn it is or what is done with a request.
import type { DurationMs } from '../clock.ts';
import type { DeltaRequest } from './delta-request.ts';
import { DeltaRequestDecoder } from './request-codec.ts';
import type { StreamEvent } from './stream-events.ts';

/** Hands an event of the protocol machine on; true when the request is taken in full. */
export type TakeEvent = (event: Extract<StreamEvent, { kind: 'request' | 'more' }>, askedAt: DurationMs) => boolean;

type Incoming = {
  readonly askedAt: DurationMs;
  /** undefined when it is decoded */
  decoder: DeltaRequestDecoder | undefined;
  /** for whoever waits until it is taken */
  settle: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | undefined;
};

export class StreamIntake {
  readonly #take: TakeEvent;
  #incoming: Incoming[] = [];

  constructor(take: TakeEvent) {
    this.#take = take;
  }

  get isEmpty(): boolean {
    return this.#incoming.length === 0;
  }

  add(message: Buffer, askedAt: DurationMs): void {
    this.#incoming.push({ askedAt, decoder: new DeltaRequestDecoder(message), settle: undefined });
  }

  /** Settles when the last message that was added is taken, or the error in it is known; undefined when it is. */
  lastTaken(): Promise<void> | undefined {
    const last = this.#incoming.at(-1);
    if (last === undefined) return undefined;
    return new Promise((resolve, reject) => {
      last.settle = { resolve, reject };
    });
  }

  /**
   * Takes the next part; true when it was the last of its request. Throws what the codec throws, unless somebody waits
   * for this message: then it is told.
   */
  takePart(): boolean {
    const [incoming] = this.#incoming;
    if (incoming === undefined) return true;
    try {
      if (!this.#isTaken(incoming)) return false;
      this.#incoming.shift();
      incoming.settle?.resolve();
    } catch (error) {
      this.#incoming.shift();
      if (incoming.settle === undefined) throw error;
      incoming.settle.reject(error);
    }
    return true;
  }

  /** The stream is gone: nobody needs to wait any more. */
  stop(): void {
    for (const { settle } of this.#incoming.splice(0)) settle?.resolve();
  }

  #isTaken(incoming: Incoming): boolean {
    const { decoder, askedAt } = incoming;
    if (decoder === undefined) return this.#take({ kind: 'more' }, askedAt);
    const request: DeltaRequest | undefined = decoder.readPart();
    if (request === undefined) return false;
    incoming.decoder = undefined;
    return this.#take({ kind: 'request', request }, askedAt);
  }
}
