// One request on its way into the protocol machine, a part at a time: the names given up, then the names asked, each
// once however often it stands there. A part is measured by effort, so that a request of 150,000 names never holds the
// event loop. Must not know what a name means.
import type { AskedName } from '../names/name-types.ts';
import type { DeltaRequest } from './delta-request.ts';

export type NameTaker = {
  readonly unsubscribe: (name: AskedName) => void;
  /** `held`: the version that the first request of a stream declares; true when a removal was sent at once */
  readonly subscribe: (name: AskedName, held: string | undefined) => boolean;
};

/** a removal sent at once costs as much as so many names noted */
const removalEffort = 7;
/** a name is read through once, at some bytes a nanosecond */
const bytesPerEffort = 256;

export class RequestTaking {
  readonly #request: DeltaRequest;
  readonly #isFirst: boolean;
  /** undefined for a single name */
  readonly #seen: Set<AskedName> | undefined;
  #unsubscribed = 0;
  #subscribed = 0;

  constructor(request: DeltaRequest, isFirst: boolean) {
    this.#request = request;
    this.#isFirst = isFirst;
    this.#seen = request.subscribe.length > 1 ? new Set() : undefined;
  }

  get isDone(): boolean {
    const { unsubscribe, subscribe } = this.#request;
    return this.#unsubscribed >= unsubscribe.length && this.#subscribed >= subscribe.length;
  }

  /** Hands over the next names, as many as `effort` allows, at least one. */
  takePart(effort: number, taker: NameTaker): void {
    const { unsubscribe, subscribe, heldVersions } = this.#request;
    let left = effort;
    for (; left > 0 && this.#unsubscribed < unsubscribe.length; left -= 1) {
      const name = unsubscribe[this.#unsubscribed];
      this.#unsubscribed += 1;
      if (name !== undefined) taker.unsubscribe(name);
    }
    for (; left > 0 && this.#subscribed < subscribe.length; left -= 1) {
      const name = subscribe[this.#subscribed];
      this.#subscribed += 1;
      if (name === undefined || this.#isSeen(name)) continue;
      left -= name.length / bytesPerEffort;
      if (taker.subscribe(name, this.#isFirst ? heldVersions.get(name) : undefined)) left -= removalEffort;
    }
  }

  #isSeen(name: AskedName): boolean {
    if (this.#seen === undefined) return false;
    const { size } = this.#seen;
    return this.#seen.add(name).size === size;
  }
}
