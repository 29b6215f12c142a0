// Runs the pair for a URL: the same fetch with the bundle and with the system's roots, each over connections of its
// own, and judges it. Must not know flags or how a verdict is printed.
import { millis, type Clock, type DurationMs } from '../clock.ts';
import { pause } from '../pause.ts';
import { fetchThrough } from '../transport/fetch-through.ts';
import type { FetchResult } from '../transport/fetch-result.ts';
import type { HttpProxy } from '../transport/http-proxy.ts';
import type { ServerTrust } from '../transport/server-trust.ts';
import type { TrustRegistry } from '../transport/trust-registry.ts';
import { judgePair } from './judge-pair.ts';
import type { Judgement } from './judge-pair.ts';

export type PairRequest = {
  readonly registry: TrustRegistry;
  readonly clock: Clock;
  readonly bundle: ServerTrust;
  readonly system: ServerTrust;
  readonly proxy?: HttpProxy;
  /** HOST:PORT to connect to instead of the URL's own */
  readonly dial?: string;
  /** for each half; both run at once */
  readonly timeoutMs: DurationMs;
  /** none: each URL is asked for once */
  readonly patience?: Patience;
};

/** A new anchor reaches a file some time after it was published; in a pod, up to minutes later by the kubelet's rhythm. */
type Patience = {
  readonly windowMs: DurationMs;
  /** read anew for each attempt */
  readonly bundleNow: () => Promise<ServerTrust>;
};

const askAgainAfter = millis(500);

export type PairVerdict = Judgement & {
  readonly url: string;
  readonly bundle: FetchResult;
  readonly system: FetchResult;
};

/** some servers answer nothing to a request without one */
export const probeHeaders = { 'user-agent': 'leafgate-probe', accept: '*/*' } as const;

/**
 * Throws what parseFetchTarget throws, and what a patient one's file does; everything that happens on the way is in the verdict.
 * Patience is for a certificate that nobody trusts: a refusal, or a gateway that relays, is no matter of time.
 */
export async function checkPair(url: string, pair: PairRequest): Promise<PairVerdict> {
  const { clock, patience } = pair;
  if (patience === undefined) return checkOnce(url, pair);
  const start = clock.monotonic();
  for (;;) {
    const verdict = await checkOnce(url, { ...pair, bundle: await patience.bundleNow() });
    if (verdict.verdict !== 'not-trusted' || clock.monotonic() - start >= patience.windowMs) return verdict;
    await pause(clock, askAgainAfter);
  }
}

async function checkOnce(url: string, pair: PairRequest): Promise<PairVerdict> {
  const half = (trust: ServerTrust): Promise<FetchResult> => {
    const { registry, clock, timeoutMs, proxy, dial } = pair;
    return fetchThrough({
      ...{ registry, clock, timeoutMs, url, trust, headers: probeHeaders },
      ...(proxy === undefined ? {} : { proxy }),
      ...(dial === undefined ? {} : { dial }),
    });
  };
  const [bundle, system] = await Promise.all([half(pair.bundle), half(pair.system)]);
  const judgement = judgePair({ bundle, system, sharedAnchors: countShared(pair.bundle, pair.system) });
  return { url, ...judgement, bundle, system };
}

/** One after the other, so that the order and the load are the reader's; each verdict is given as it comes. */
export async function checkPairs(
  urls: readonly string[],
  pair: PairRequest,
  seen: (verdict: PairVerdict) => void = () => undefined,
): Promise<readonly PairVerdict[]> {
  const verdicts: PairVerdict[] = [];
  for (const url of urls) {
    const verdict = await checkPair(url, pair);
    verdicts.push(verdict);
    seen(verdict);
  }
  return verdicts;
}

function countShared(bundle: ServerTrust, system: ServerTrust): number {
  const known = new Set(system.anchors.map(({ sha256 }) => sha256));
  return bundle.anchors.filter(({ sha256 }) => known.has(sha256)).length;
}
