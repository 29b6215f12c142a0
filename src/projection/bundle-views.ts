// How old what is known of the cluster's bundles is, and whether that is too old: files stay as they were last good however
// long the API server is away, so that nothing else shows that they are of then. Must not know what is in a bundle.
import { millis, minutes, repeat, seconds, type Clock, type DurationMs, type Timer } from '../clock.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { Log } from '../observe/log.ts';

export type BundleView = {
  /** the API server has said what there is, or that it goes on as it was */
  readonly confirmed: () => void;
  readonly close: () => void;
};

export interface BundleViews {
  /** a view that counts from the first time it is confirmed */
  open(): BundleView;
  /** of the oldest one; undefined where bundles of the cluster have not been seen, or none is asked for */
  age(): DurationMs | undefined;
  /** what is to be known where that is too old: one sentence, or none */
  troubles(): readonly string[];
}

export type ViewsOptions = {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'beforeScrape' | 'set'>;
};

/** an idle watch is confirmed every two minutes and given up after three; another CA signs after six at the earliest */
const oldAfter = minutes(5);
const lookEvery = seconds(5);

export function createBundleViews(options: ViewsOptions): BundleViews {
  return new Views(options);
}

class Views implements BundleViews {
  readonly #options: ViewsOptions;
  /** those that are open, and when each was confirmed */
  readonly #views = new Map<BundleView, DurationMs | undefined>();
  #isOld = false;
  #timer: Timer | undefined;

  constructor(options: ViewsOptions) {
    this.#options = options;
    options.metrics.beforeScrape(() => {
      options.metrics.set('leafgate_bundle_view_age_seconds', (this.age() ?? 0) / 1000);
    });
  }

  open(): BundleView {
    const view: BundleView = {
      confirmed: () => void this.#views.set(view, this.#options.clock.monotonic()),
      close: () => {
        this.#views.delete(view);
        if (this.#views.size === 0) this.#timer?.cancel();
      },
    };
    if (this.#views.size === 0) this.#timer = repeat(this.#options.clock, lookEvery, () => this.#look());
    this.#views.set(view, undefined);
    return view;
  }

  age(): DurationMs | undefined {
    const confirmedAt = [...this.#views.values()].filter((at) => at !== undefined);
    return confirmedAt.length === 0 ? undefined : millis(this.#options.clock.monotonic() - Math.min(...confirmedAt));
  }

  troubles(): readonly string[] {
    const age = this.age() ?? 0;
    if (age < oldAfter) return [];
    const ago = `${Math.floor(age / minutes(1))} minutes ago`;
    return [`the API server last confirmed the bundles of the cluster ${ago}: trust files stay as they were then`];
  }

  #look(): void {
    // a new list of bundles that has not been answered yet is no better news
    if (this.age() === undefined) return;
    const { log } = this.#options;
    const wasOld = this.#isOld;
    const [detail] = this.troubles();
    this.#isOld = detail !== undefined;
    if (this.#isOld && !wasOld) log.warn('what is known of the bundles of the cluster is old', { detail });
    if (!this.#isOld && wasOld) log.info('the bundles of the cluster are known as they are now');
  }
}
