// From the names of bundles that an actor asks for to the certificates that go into its file. This half knows the backends
// and nothing of files. Each backend is followed once, from the first time that somebody asks for its name.
import { hours, repeat, type Timer } from '../clock.ts';
import type { LeafgateError } from '../errors.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { BundleAllowlist } from '../settings/bundle-allowlist.ts';
import { bundleText } from '../x509/bundle-text.ts';
import type { Certificate, Pem } from '../x509/certificate-types.ts';
import { createBackings, type BackingOptions, type Backings } from './backings.ts';
import { bundleErrors } from './bundle-errors.ts';
import { FollowedBundle } from './followed-bundle.ts';
import { expiredIn, type BundleCause } from './judge-bundle.ts';

export type BundleProblem = { readonly cause: BundleCause; readonly bundle: string; readonly error: LeafgateError };

export type ResolvedSource =
  /** equal sets have equal texts */
  | { readonly kind: 'ready'; readonly pemBundle: Pem }
  /** a first answer is not there yet, and `onChange` will tell */
  | { readonly kind: 'pending' }
  /** the first of the names that cannot be had */
  | { readonly kind: 'refused'; readonly problem: BundleProblem };

export interface BundleResolver {
  /** what the bundles of a source, joined, are now; never waits, never throws */
  resolve(names: readonly string[]): ResolvedSource;
  /** called after any bundle became another, or turned bad or good */
  onChange(listener: () => void): void;
  close(): Promise<void>;
}

export type BundleResolverOptions = BackingOptions & { readonly allowlist: BundleAllowlist; readonly metrics: Metrics };

export function createBundleResolver(options: BundleResolverOptions): BundleResolver {
  return new Resolver(options);
}

/** what clients are known to read; eight bundles may be as much as 8 MiB */
const maxFileBytes = 4 * 1024 * 1024;
/** far more choices than a list of bundles is asked for */
const maxJoined = 10_000;
/** bundles expire without anybody touching them */
const judgeAgainEvery = hours(1);

class Resolver implements BundleResolver {
  readonly #options: BundleResolverOptions;
  readonly #backings: Backings;
  readonly #bundles = new Map<string, FollowedBundle>();
  readonly #listeners: (() => void)[] = [];
  /** by the names that are joined; forgotten at each change */
  #joined = new Map<string, ResolvedSource>();
  readonly #judging: Timer;
  #isClosed = false;

  constructor(options: BundleResolverOptions) {
    this.#options = options;
    this.#backings = createBackings(options);
    this.#judging = repeat(options.clock, judgeAgainEvery, () => this.#judgeAll());
  }

  resolve(names: readonly string[]): ResolvedSource {
    const key = names.join('\n');
    const known = this.#joined.get(key) ?? this.#join(names);
    if (this.#joined.size === maxJoined) this.#joined = new Map();
    this.#joined.set(key, known);
    return known;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#judging.cancel();
    await this.#backings.close();
  }

  #join(names: readonly string[]): ResolvedSource {
    const certificates: Certificate[] = [];
    // all of them first: the second is followed while the first is still pending
    for (const [name, bundle] of names.map((one) => [one, this.#bundle(one)] as const)) {
      if (bundle === undefined) return refused(name, 'unknown-name', this.#unknown(name));
      const judged = bundle.judged();
      if (judged.kind === 'refused') return refused(name, judged.cause, judged.error);
      if (judged.kind === 'pending') return judged;
      certificates.push(...judged.certificates);
    }
    const pemBundle = bundleText(certificates);
    if (pemBundle.length <= maxFileBytes) return { kind: 'ready', pemBundle };
    const fields = { names: names.join(', '), maxBytes: maxFileBytes };
    return refused(names[0] ?? '', 'unusable', bundleErrors.error('bundle-file-too-large', fields));
  }

  #bundle(name: string): FollowedBundle | undefined {
    const known = this.#bundles.get(name);
    const backend = this.#options.allowlist.get(name);
    if (known !== undefined || backend === undefined) return known;
    const { clock, log, metrics } = this.#options;
    const bundle = new FollowedBundle({ name, clock, log, metrics });
    this.#bundles.set(name, bundle);
    bundle.follow(this.#backings.open(name, backend, () => this.#take(bundle)));
    this.#measure();
    return bundle;
  }

  #take(bundle: FollowedBundle): void {
    if (this.#isClosed || !bundle.judge()) return;
    this.#tell();
  }

  #tell(): void {
    this.#joined = new Map();
    this.#measure();
    for (const listener of this.#listeners) listener();
  }

  #measure(): void {
    const expired = [...this.#bundles.values()].reduce((sum, bundle) => sum + expiredIn(bundle.judged()), 0);
    this.#options.metrics.set('leafgate_bundle_expired_anchors', expired);
  }

  #judgeAll(): void {
    const changed = [...this.#bundles.values()].filter((bundle) => bundle.judge());
    if (changed.length > 0) this.#tell();
  }

  #unknown(bundle: string): LeafgateError {
    const known = [...this.#options.allowlist.keys()].toSorted().join(', ');
    return bundleErrors.error('bundle-unknown', { bundle, known });
  }
}

function refused(bundle: string, cause: BundleCause, error: LeafgateError): ResolvedSource {
  return { kind: 'refused', problem: { cause, bundle, error } };
}
