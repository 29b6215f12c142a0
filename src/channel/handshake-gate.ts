// How many strangers may be in a handshake at once, and what failed ones may cost: decided when a connection is accepted, before
// it costs a signature. Those who are slow on purpose leave places for others, and some places are only for networks from which
// a peer was let in of late. A success never counts as a failure. Pure: time comes in as an argument.
import { millis, type DurationMs } from '../clock.ts';
import { KnownNetworks } from './known-networks.ts';

const places = {
  /** handshakes under way, of everybody: a millisecond of CPU each */
  all: 64,
  /** of these, for known networks alone: a quarter, since Envoys that are known come back by themselves, and not all at once */
  reserved: 16,
  /** which a known network gets whatever is free: four of them that harbour somebody hostile fill the reserve, not one */
  ofKnown: 4,
  /** of the free places that are for everybody, one network gets this part: it takes 14 networks to fill them, not 4 */
  partOfFree: 4,
} as const;

/** what one network, and all strangers together, may fail with at once and then each second, in units of `costOf` */
const allowances = {
  ofNetwork: { burst: 100, perSecond: 20 },
  /** a third of a CPU or so; fifteen networks at their own limit are enough to spend it */
  ofStrangers: { burst: 1000, perSecond: 300 },
} as const;

/** networks whose failures are remembered; the one that was quiet the longest is forgotten first */
const maxNetworks = 4096;

/** an ordinary handshake: a ClientHello, and a certificate or two */
const ordinaryBytes = 2048;

type Allowance = { readonly burst: number; readonly perSecond: number };
type Account = { left: number; at: DurationMs };
type Seen = { pending: number; readonly account: Account };

export class HandshakeGate {
  readonly #seen = new Map<string, Seen>();
  readonly #known = new KnownNetworks();
  readonly #strangers: Account = { left: allowances.ofStrangers.burst, at: millis(0) };
  #pending = 0;

  /** False: the connection is to be closed unread. True: `letIn` or `failed` is called once, when the handshake has ended. */
  enter(network: string, now: DurationMs): boolean {
    const seen = this.#look(network, now);
    const isKnown = this.#known.has(network, now);
    const free = places.all - places.reserved - this.#pending;
    const limit = Math.max(Math.ceil(free / places.partOfFree), isKnown ? places.ofKnown : 0);
    if (this.#pending >= places.all || seen.pending >= limit) return false;
    if (seen.account.left < 1 || (!isKnown && this.#strangers.left < 1)) return false;
    seen.pending += 1;
    this.#pending += 1;
    return true;
  }

  /** `gone` is called once, when the connection has closed */
  letIn(network: string, now: DurationMs): void {
    this.#leave(network);
    this.#known.letIn(network, now);
  }

  gone(network: string, now: DurationMs): void {
    this.#known.gone(network, now);
  }

  failed(network: string, receivedBytes: number, now: DurationMs): void {
    this.#leave(network);
    const cost = costOf(receivedBytes);
    this.#look(network, now).account.left -= cost;
    if (!this.#known.has(network, now)) this.#strangers.left -= cost;
  }

  /** More was spent than there was: its other handshakes are not worth waiting for. */
  isOverdrawn(network: string, now: DurationMs): boolean {
    if (this.#look(network, now).account.left < 0) return true;
    return this.#strangers.left < 0 && !this.#known.has(network, now);
  }

  #leave(network: string): void {
    const seen = this.#seen.get(network);
    if (seen === undefined) return;
    this.#pending -= 1;
    seen.pending -= 1;
  }

  #look(network: string, now: DurationMs): Seen {
    const seen = this.#seen.get(network) ?? { pending: 0, account: { left: allowances.ofNetwork.burst, at: now } };
    fill(seen.account, allowances.ofNetwork, now);
    fill(this.#strangers, allowances.ofStrangers, now);
    this.#seen.delete(network);
    this.#seen.set(network, seen);
    if (this.#seen.size > maxNetworks) this.#forgetOne();
    return seen;
  }

  /** those with handshakes under way are few: there are so many places */
  #forgetOne(): void {
    for (const [network, { pending }] of this.#seen) {
      if (pending > 0) continue;
      this.#seen.delete(network);
      return;
    }
  }
}

function fill(account: Account, { burst, perSecond }: Allowance, now: DurationMs): void {
  account.left = Math.min(burst, account.left + (Math.max(0, now - account.at) / 1000) * perSecond);
  account.at = now;
}

/**
 * One is a millisecond of CPU or two. What is sent grows with the square, since only a long chain of certificates needs it, and one
 * of sixty KiB costs 150 to 300 ms: OpenSSL verifies up to a hundred signatures, also where they lead nowhere (measured).
 */
function costOf(receivedBytes: number): number {
  return Math.max(1, (receivedBytes / ordinaryBytes) ** 2);
}
