// How many strangers may be in a handshake at once, and how often one address may fail at it: decided when a connection is
// accepted, before it costs a signature. A success never counts as a failure. Pure: time comes in as an argument.
import type { DurationMs } from '../clock.ts';

const gateLimits = {
  /** handshakes under way, of everybody: a millisecond of CPU each */
  pending: 64,
  /** of one address, so that one that is slow on purpose leaves room for others */
  pendingOfAddress: 16,
  /** failed handshakes of one address at once, and a second in the long run */
  failureBurst: 100,
  failuresPerSecond: 20,
  /** addresses that are remembered; the one that was quiet the longest is forgotten first */
  addresses: 4096,
} as const;

type Known = { pending: number; tokens: number; at: DurationMs };

export class HandshakeGate {
  readonly #known = new Map<string, Known>();
  #pending = 0;

  /** False: the connection is to be closed unread. True: `leave` is called once, when the handshake has ended. */
  enter(address: string, now: DurationMs): boolean {
    const known = this.#look(address, now);
    if (this.#pending >= gateLimits.pending || known.pending >= gateLimits.pendingOfAddress || known.tokens < 1) {
      return false;
    }
    known.pending += 1;
    // given back when it succeeds: a peer that is let in may come as often as it likes
    known.tokens -= 1;
    this.#pending += 1;
    return true;
  }

  leave(address: string, hasSucceeded: boolean): void {
    this.#pending -= 1;
    const known = this.#known.get(address);
    if (known === undefined) return;
    known.pending -= 1;
    if (hasSucceeded) known.tokens = Math.min(gateLimits.failureBurst, known.tokens + 1);
  }

  #look(address: string, now: DurationMs): Known {
    const { failureBurst, failuresPerSecond } = gateLimits;
    const known = this.#known.get(address) ?? { pending: 0, tokens: failureBurst, at: now };
    known.tokens = Math.min(failureBurst, known.tokens + ((now - known.at) / 1000) * failuresPerSecond);
    known.at = now;
    this.#known.delete(address);
    this.#known.set(address, known);
    if (this.#known.size > gateLimits.addresses) this.#forgetOne();
    return known;
  }

  /** those with handshakes under way are few: `pending` bounds them */
  #forgetOne(): void {
    for (const [address, { pending }] of this.#known) {
      if (pending > 0) continue;
      this.#known.delete(address);
      return;
    }
  }
}
