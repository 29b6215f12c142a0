// From which networks a peer was let in of late: while one of its connections is open, and for a day after that. Strangers
// cannot fill it, since only a handshake that succeeded counts, however many addresses they have. Pure.
import { hours, millis, type DurationMs } from '../clock.ts';

/** an Envoy that was away for a night, or for the restart of its machine, is still known */
const rememberedFor = hours(24);

/** more than connections are served, with room for addresses that change; the one that left the longest ago is forgotten first */
const maxRemembered = 4096;

type Known = { readonly open: number; readonly until: DurationMs };

export class KnownNetworks {
  /** in the order of what happened last */
  readonly #known = new Map<string, Known>();

  has(network: string, now: DurationMs): boolean {
    const known = this.#known.get(network);
    return known !== undefined && (known.open > 0 || now < known.until);
  }

  /** a peer was let in; `gone` is called once, when its connection has closed */
  letIn(network: string, now: DurationMs): void {
    this.#note(network, 1, now);
    if (this.#known.size > maxRemembered) this.#forgetOne();
  }

  gone(network: string, now: DurationMs): void {
    this.#note(network, -1, now);
  }

  #note(network: string, change: 1 | -1, now: DurationMs): void {
    const open = (this.#known.get(network)?.open ?? 0) + change;
    this.#known.delete(network);
    this.#known.set(network, { open, until: millis(now + rememberedFor) });
  }

  /** those with an open connection are few: the server bounds them */
  #forgetOne(): void {
    for (const [network, { open }] of this.#known) {
      if (open > 0) continue;
      this.#known.delete(network);
      return;
    }
  }
}
