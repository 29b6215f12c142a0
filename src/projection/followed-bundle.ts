// One bundle of the list while it is followed: what it is now, told in log and metrics when it becomes something else.
// Must not know which volumes want it.
import type { Clock } from '../clock.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { Log } from '../observe/log.ts';
import { pendingState, type BackingState } from './backing.ts';
import { judgeBundle, type JudgedBundle } from './judge-bundle.ts';

export type BundleParts = {
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
};

export class FollowedBundle {
  readonly #parts: BundleParts;
  #state: () => BackingState = () => pendingState;
  #judged: JudgedBundle = { kind: 'pending' };

  constructor(parts: BundleParts) {
    this.#parts = parts;
  }

  /** `state` says how the backend stands */
  follow(state: () => BackingState): void {
    this.#state = state;
    this.judge();
  }

  judged(): JudgedBundle {
    return this.#judged;
  }

  /** Looks at the backend anew; whether the bundle is another one now. */
  judge(): boolean {
    const before = this.#judged;
    const judged = judgeBundle(this.#state(), this.#parts.clock.now());
    if (isSame(before, judged)) return false;
    this.#judged = judged;
    this.#tell(before, judged);
    return true;
  }

  #tell(before: JudgedBundle, judged: JudgedBundle): void {
    const { name, log, metrics } = this.#parts;
    if (judged.kind === 'refused') {
      const { reason, error } = judged;
      const { code, message, remedy } = error;
      const fields = { bundle: name, reason, code, detail: message, remedy };
      metrics.count('leafgate_bundle_refusals_total', { reason });
      if (reason === 'private-key') {
        metrics.count('leafgate_bundle_private_keys_total');
        log.error('a private key stands where a bundle comes from, which is refused', fields);
      } else log.warn('a bundle cannot be used', fields);
      return;
    }
    if (judged.kind === 'pending') return;
    if (before.kind === 'refused') log.info('a bundle can be used again', { bundle: name });
    if (judged.leftOut.length > 0) {
      const detail = judged.leftOut.join(', ');
      log.warn('blocks that are no certificates are left out of a bundle', { bundle: name, detail });
    }
    const known = before.kind === 'ready' ? digestsOf(before.expired) : new Set();
    for (const { sha256, subject, notAfter } of judged.expired) {
      if (known.has(sha256)) continue;
      const detail = `${subject}, expired ${new Date(notAfter).toISOString()}, SHA-256 ${sha256}`;
      log.warn('an expired certificate is kept in a bundle', { bundle: name, detail });
    }
  }
}

type Digests = ReadonlySet<string>;

function digestsOf(certificates: readonly { readonly sha256: string }[]): Digests {
  return new Set(certificates.map(({ sha256 }) => sha256));
}

function isSame(one: JudgedBundle, other: JudgedBundle): boolean {
  switch (one.kind) {
    case 'pending':
      return other.kind === 'pending';
    case 'refused':
      return (
        other.kind === 'refused' && one.error.code === other.error.code && one.error.message === other.error.message
      );
    case 'ready': {
      if (other.kind !== 'ready') return false;
      const before = digestsOf(one.certificates);
      const isSameSet =
        before.size === digestsOf(other.certificates).size &&
        other.certificates.every(({ sha256 }) => before.has(sha256));
      return isSameSet && one.expired.length === other.expired.length;
    }
    default:
      return one satisfies never;
  }
}
