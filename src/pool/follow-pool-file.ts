// Follows a pool file: a change is taken within a second, whole or not at all; what cannot be used leaves the last good
// pool signing, and is reported once. An edge.
import { createHash } from 'node:crypto';
import { minutes, millis, plus, type Clock, type DurationMs, type EpochMs } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { followSettled, type SettledFollower } from '../follow-settled.ts';
import { parsePool } from './parse-pool.ts';
import type { Pool } from './pool-types.ts';
import { readPoolFile } from './read-pool-file.ts';

type PoolEvents = {
  /** another pool signs from now on, or the file is good again; its `faults` name the CAs that were left out */
  poolTaken(pool: Pool): void;
  /** the file cannot be used, and the last good pool goes on; once for each distinct fault */
  poolRefused(error: LeafgateError): void;
};

export type FollowRequest = {
  readonly path: string;
  readonly clock: Clock;
  readonly allowEd25519: boolean;
  readonly shortestLeafMs: DurationMs;
  readonly events: PoolEvents;
};

export interface PoolFollower {
  current(): Pool;
  close(): void;
}

/** three of these, for a torn read and a second look, still fit into a second */
const pollEvery = millis(250);
/** a refused pool may become good by waiting: a CA that was not valid yet */
const examineAgainAfter = minutes(1);

/** Rejects with what is wrong when the file is not usable at the start. `poolTaken` is not called for the first pool. */
export async function followPoolFile(request: FollowRequest): Promise<PoolFollower> {
  const look = await lookAt(request);
  if (look.kind === 'refused') throw look.error;
  return new FollowedPool(request, look.pool);
}

/** What the file was at one look. `mark` tells distinct faults apart. */
type Look =
  | { readonly kind: 'taken'; readonly pool: Pool }
  | { readonly kind: 'refused'; readonly error: LeafgateError; readonly mark: string };

async function lookAt(request: FollowRequest, known?: KnownContent): Promise<Look> {
  const { path, clock, allowEd25519, shortestLeafMs } = request;
  let mark = 'unread';
  try {
    const bytes = await readPoolFile(path);
    mark = createHash('sha256').update(bytes).digest('hex');
    const earlier = known?.recall(mark, clock.now());
    if (earlier !== undefined) return earlier;
    const terms = { source: path, now: clock.now(), allowEd25519, shortestLeafMs };
    return { kind: 'taken', pool: parsePool(bytes, terms) };
  } catch (thrown) {
    const error = LeafgateError.from(thrown);
    return { kind: 'refused', error, mark: `${mark} ${error.code} ${error.message}` };
  }
}

/** Spares parsing the same bytes at each look: the file is read and hashed, since its dates may not tell a change. */
interface KnownContent {
  recall(sha256: string, now: EpochMs): Look | undefined;
}

function isSame(one: Look, other: Look): boolean {
  if (one.kind === 'taken') return other.kind === 'taken' && other.pool === one.pool;
  return other.kind === 'refused' && other.mark === one.mark;
}

class FollowedPool implements PoolFollower, KnownContent {
  readonly #request: FollowRequest;
  readonly #looks: SettledFollower;
  #pool: Pool;
  #last: Look;
  /** when the bytes of a refusal are judged anew */
  #examineAgainAt: EpochMs;

  constructor(request: FollowRequest, pool: Pool) {
    this.#request = request;
    this.#pool = pool;
    this.#last = { kind: 'taken', pool };
    this.#examineAgainAt = request.clock.now();
    this.#looks = followSettled<Look>({
      ...{ clock: request.clock, known: this.#last, isSame, lookAgainAfter: () => pollEvery, confirmAfter: pollEvery },
      look: () => this.#look(),
      // a file that is being written, or is away for the moment of a swap, is no news
      isWhole: ({ kind }) => kind === 'taken',
      settled: (look) => this.#tell(look),
    });
  }

  current(): Pool {
    return this.#pool;
  }

  close(): void {
    void this.#looks.close();
  }

  recall(sha256: string, now: EpochMs): Look | undefined {
    if (sha256 === this.#pool.sha256) return { kind: 'taken', pool: this.#pool };
    const isSameRefusal = this.#last.kind === 'refused' && this.#last.mark.startsWith(`${sha256} `);
    return isSameRefusal && now < this.#examineAgainAt ? this.#last : undefined;
  }

  async #look(): Promise<Look> {
    const look = await lookAt(this.#request, this);
    if (look !== this.#last) this.#examineAgainAt = plus(this.#request.clock.now(), examineAgainAfter);
    this.#last = look;
    return look;
  }

  #tell(look: Look): void {
    const { events } = this.#request;
    if (look.kind === 'refused') {
      events.poolRefused(look.error);
      return;
    }
    this.#pool = look.pool;
    events.poolTaken(look.pool);
  }
}
