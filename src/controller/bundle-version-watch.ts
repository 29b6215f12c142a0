// Which version of ClusterTrustBundle the API server serves, asked again and again: a cluster may begin to serve it, or a
// newer one, while the controller runs. Must not know what bundles are for.
import { millis, seconds, type Clock, type DurationMs, type Timer } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import type { KubeResource } from '../kube/kube-types.ts';
import type { Log } from '../observe/log.ts';

export type BundleVersionOptions = {
  /** undefined: none is served; rejects when the server cannot be asked */
  readonly find: () => Promise<KubeResource | undefined>;
  /** what was found before */
  readonly initial: KubeResource | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly changed: () => void;
};

export interface BundleVersionWatch {
  current(): KubeResource | undefined;
  /** something speaks for a change: ask soon */
  askSoon(): void;
  close(): void;
}

/** soon, while nothing is served: somebody is waiting for it */
const askWhenNoneMs = seconds(10);
const askMs = seconds(300);
const askSoonMs = seconds(1);

export function watchBundleVersion(options: BundleVersionOptions): BundleVersionWatch {
  const { find, clock, log, changed } = options;
  let current = options.initial;
  let timer: Timer;
  let isClosed = false;
  let isSoon = false;
  const look = async (): Promise<void> => {
    const found = await find();
    if (isClosed || found?.version === current?.version) return;
    log.info('the API server serves another version of ClusterTrustBundle', { version: found?.version ?? 'none' });
    current = found;
    changed();
  };
  const later = (wait: DurationMs = current === undefined ? askWhenNoneMs : askMs): Timer => {
    return clock.after(millis(wait), () => {
      look()
        .catch((thrown: unknown) =>
          log.debug('the API server could not be asked what it serves', { detail: LeafgateError.from(thrown).message }),
        )
        .finally(() => {
          isSoon = false;
          if (!isClosed) timer = later();
        });
    });
  };
  timer = later();
  return {
    current: () => current,
    askSoon: () => {
      if (isClosed || isSoon) return;
      isSoon = true;
      timer.cancel();
      timer = later(askSoonMs);
    },
    close: () => {
      isClosed = true;
      timer.cancel();
    },
  };
}
